//! From the client's request to the one that the endpoint gets.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri, Version, header, request::Parts};
use http_body::Body;
use tower_affinity::PeerAddr;

use tower_affinity::respond::UpstreamFault;

use super::{UpstreamError, UpstreamOptions, forwarded, hop};

/// A request that is ready to be sent, but for its body.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) parts: Parts,
    pub(super) upgrade: bool,
}

/// Addresses the request to `endpoint` and makes its fields fit a connection of ours.
///
/// No `Via` is added: it would change what caches and compressing servers do, and tell clients'
/// scripts nothing. `Expect` goes: the client gets its `100` from us when the endpoint's
/// connection takes the body, since hyper's client does not wait for the endpoint's.
pub(super) fn prepare(
    mut parts: Parts,
    body: &impl Body,
    endpoint: SocketAddr,
    options: &UpstreamOptions,
) -> Result<Prepared, UpstreamError> {
    let upgrade = wanted_upgrade(&parts);
    let trailers = hop::has_token(&parts.headers, &header::TE, "trailers");
    let host = host(&parts);
    let peer = parts.extensions.get::<PeerAddr>().copied();
    let scheme = parts.extensions.get().copied().unwrap_or_default();

    parts.uri = target(&parts, endpoint)?;
    let headers = &mut parts.headers;
    hop::strip(headers);
    headers.remove(header::EXPECT);
    headers.insert(header::HOST, host.clone());
    forwarded::set(headers, peer, scheme, &host, &options.trusted_proxies);
    if parts.version == Version::HTTP_2 {
        join_cookies(headers);
    }
    if let Some(protocol) = &upgrade {
        headers.insert(header::UPGRADE, protocol.clone());
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    } else if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("te"));
    }
    // Said outright, or hyper would send a GET without the body that it came with.
    if !body.is_end_stream()
        && body.size_hint().exact().is_none()
        && !headers.contains_key(header::CONTENT_LENGTH)
    {
        headers.insert(
            header::TRANSFER_ENCODING,
            HeaderValue::from_static("chunked"),
        );
    }
    parts.version = Version::HTTP_11;
    Ok(Prepared {
        parts,
        upgrade: upgrade.is_some(),
    })
}

/// The protocol to switch to, if the client asks for that and we pass it on.
///
/// HTTP itself is not passed on: behind an upgrade to `h2c` the requests of the client would
/// reach the endpoint unseen.
fn wanted_upgrade(parts: &Parts) -> Option<HeaderValue> {
    if parts.version != Version::HTTP_11
        || !hop::has_token(&parts.headers, &header::CONNECTION, "upgrade")
    {
        return None;
    }
    let mut lines = parts.headers.get_all(header::UPGRADE).into_iter();
    let protocol = lines.next()?;
    let only = lines.next().is_none();
    let plain = hop::tokens(&parts.headers, &header::UPGRADE).all(|token| {
        let token = token.to_ascii_lowercase();
        !token.starts_with(b"h2") && !token.starts_with(b"http")
    });
    (only && plain).then(|| protocol.clone())
}

/// The client's `Host`; on HTTP/2 and in absolute form the authority stands for it. Empty where
/// there is none, which HTTP/1.1 allows and an endpoint may refuse.
fn host(parts: &Parts) -> HeaderValue {
    let authority = parts
        .uri
        .authority()
        .and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    authority
        .or_else(|| parts.headers.get(header::HOST).cloned())
        .unwrap_or(const { HeaderValue::from_static("") })
}

fn target(parts: &Parts, endpoint: SocketAddr) -> Result<Uri, UpstreamError> {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    Uri::builder()
        .scheme("http")
        .authority(endpoint.to_string())
        .path_and_query(path)
        .build()
        .map_err(|error| UpstreamError::caused(UpstreamFault::Connect, error))
}

/// HTTP/2 may split the cookies over many fields; HTTP/1.1 has one (RFC 9113, section 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let mut crumbs = headers.get_all(header::COOKIE).into_iter();
    let (Some(first), Some(_)) = (crumbs.next(), crumbs.next()) else {
        return;
    };
    let mut joined = first.as_bytes().to_vec();
    for crumb in headers.get_all(header::COOKIE).into_iter().skip(1) {
        if !joined.is_empty() && !crumb.is_empty() {
            joined.extend_from_slice(b"; ");
        }
        joined.extend_from_slice(crumb.as_bytes());
    }
    // Bytes of header values: always a header value.
    if let Ok(cookie) = HeaderValue::from_maybe_shared(Bytes::from(joined)) {
        headers.insert(header::COOKIE, cookie);
    }
}
