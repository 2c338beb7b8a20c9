//! From the client's request to the one that the endpoint gets.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri, Version, header, request::Parts, uri::Authority};
use http_body::Body;
use tower_affinity::PeerAddr;

use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError, forwarded, hop,
    switch::{Asked, Switch},
};
use crate::trust::TrustedProxies;

/// A request that is ready to be sent, but for its body.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) parts: Parts,
    pub(super) switch: Option<Switch>,
}

/// Where a request goes, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) endpoint: SocketAddr,
    pub(super) http2: bool,
    pub(super) secure: bool,
}

/// Addresses the request to the endpoint and makes its fields fit a connection of ours.
///
/// No `Via` is added: it would change what caches and compressing servers do, and tell clients'
/// scripts nothing. `Expect` goes: the client gets its `100` from us when the endpoint's
/// connection takes the body, since hyper's client does not wait for the endpoint's.
pub(super) fn prepare(
    mut parts: Parts,
    body: &impl Body,
    target: Target,
    trusted: &TrustedProxies,
) -> Result<Prepared, UpstreamError> {
    let asked = Asked::by(&parts);
    let trailers = hop::has_token(&parts.headers, &header::TE, "trailers");
    let host = host(&parts);
    let peer = parts.extensions.get::<PeerAddr>().copied();
    let scheme = parts.extensions.get().copied().unwrap_or_default();

    parts.uri = if target.http2 {
        target_in_http2(&parts, &host, target)?
    } else {
        target_in_http1(&parts, target.endpoint)?
    };
    let headers = &mut parts.headers;
    hop::strip(headers);
    headers.remove(header::EXPECT);
    forwarded::set(headers, peer, scheme, &host, trusted);
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    if target.http2 {
        // its authority says the same
        headers.remove(header::HOST);
        parts.version = Version::HTTP_2;
    } else {
        headers.insert(header::HOST, host);
        fit_http1(headers, parts.version, trailers, body);
        parts.version = Version::HTTP_11;
    }
    let switch = match asked {
        None => None,
        Some(asked) => match asked.clone().put(&mut parts, target.http2) {
            // without it the client would take any success for agreement
            None if matches!(asked, Asked::Extended) => {
                return Err(UpstreamError::new(UpstreamFault::Unsent));
            }
            switch => switch,
        },
    };
    Ok(Prepared { parts, switch })
}

fn fit_http1(headers: &mut HeaderMap, came_in: Version, trailers: bool, body: &impl Body) {
    if came_in == Version::HTTP_2 {
        join_cookies(headers);
    }
    if trailers {
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

/// The pool of HTTP/1.1 connections dials the authority, and sends what comes after it.
fn target_in_http1(parts: &Parts, endpoint: SocketAddr) -> Result<Uri, UpstreamError> {
    Uri::builder()
        .scheme("http")
        .authority(endpoint.to_string())
        .path_and_query(path(parts))
        .build()
        .map_err(|error| UpstreamError::caused(UpstreamFault::Connect, error))
}

/// The authority is the client's host: it is what the endpoint reads. Where there is none that
/// HTTP/2 can say, the endpoint's address stands for it.
fn target_in_http2(
    parts: &Parts,
    host: &HeaderValue,
    target: Target,
) -> Result<Uri, UpstreamError> {
    let host = Authority::try_from(host.as_bytes()).ok();
    let authority = host.map_or_else(|| target.endpoint.to_string(), |host| host.to_string());
    Uri::builder()
        .scheme(if target.secure { "https" } else { "http" })
        .authority(authority)
        .path_and_query(path(parts))
        .build()
        .map_err(|error| UpstreamError::caused(UpstreamFault::Connect, error))
}

fn path(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |path| path.as_str())
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
