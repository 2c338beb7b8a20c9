//! From the client's request to the one that the endpoint gets.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri, Version, header, request::Parts, uri::Authority};
use http_body::Body;
use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError, forwarded,
    hop::{self, Found},
    switch::{Asked, Switch},
    told::Told,
};
use crate::trust::TrustedProxies;

/// Where a request goes, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) endpoint: SocketAddr,
    pub(super) http2: bool,
    pub(super) secure: bool,
}

/// Addresses the request to the endpoint and makes its fields fit a connection of ours; answers
/// which switch of protocols it asks for.
///
/// No `Via` is added: it would change what caches and compressing servers do, and tell clients'
/// scripts nothing. `Expect` goes: the client gets its `100` from us when the endpoint's
/// connection takes the body, since hyper's client does not wait for the endpoint's.
pub(super) fn prepare(
    parts: &mut Parts,
    body: &impl Body,
    target: Target,
    told: &Told,
    trusted: &TrustedProxies,
) -> Result<Option<Switch>, UpstreamError> {
    let found = Found::among(&parts.headers);
    // without a field of the connection there is no upgrade, and HTTP/2 asks by its method
    let may_ask = found.hop || parts.method == Method::CONNECT;
    let asked = may_ask.then(|| Asked::by(parts)).flatten();
    let trailers = found.hop && hop::has_token(&parts.headers, &header::TE, "trailers");
    let (host, is_host) = host(parts);

    if target.http2 {
        parts.uri = target_in_http2(parts, &host, target)?;
    } else {
        leave_path(&mut parts.uri);
    }
    let headers = &mut parts.headers;
    if found.hop {
        hop::strip(headers);
    }
    if found.expect {
        headers.remove(header::EXPECT);
    }
    forwarded::set(headers, told, &host, trusted, found);
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    if target.http2 {
        // its authority says the same
        headers.remove(header::HOST);
        parts.version = Version::HTTP_2;
    } else {
        if !is_host || found.hop {
            headers.insert(header::HOST, host);
        }
        fit_http1(headers, parts.version, trailers, body);
        parts.version = Version::HTTP_11;
    }
    let Some(asked) = asked else {
        return Ok(None);
    };
    match asked.clone().put(parts, target.http2) {
        // without it the client would take any success for agreement
        None if matches!(asked, Asked::Extended) => Err(UpstreamError::new(UpstreamFault::Unsent)),
        switch => Ok(switch),
    }
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

/// The client's `Host`, and whether it is the one that the head has already; on HTTP/2 and in
/// absolute form the authority stands for it. Empty where there is none, which HTTP/1.1 allows and
/// an endpoint may refuse.
fn host(parts: &Parts) -> (HeaderValue, bool) {
    let authority = parts
        .uri
        .authority()
        .and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(authority) = authority {
        return (authority, false);
    }
    let mut lines = parts.headers.get_all(header::HOST).into_iter();
    match (lines.next(), lines.next()) {
        (Some(host), more) => (host.clone(), more.is_none()),
        (None, _) => (const { HeaderValue::from_static("") }, false),
    }
}

/// Over HTTP/1.1 an endpoint is asked by path alone. Most clients ask us so, too.
fn leave_path(uri: &mut Uri) {
    if uri.scheme().is_none() && uri.authority().is_none() && uri.path_and_query().is_some() {
        return;
    }
    let path = uri.path_and_query().cloned();
    *uri = path.map_or_else(Uri::default, Uri::from);
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
