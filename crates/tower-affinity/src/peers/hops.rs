//! Fields that belong to one connection and end there (RFC 9110, section 7.6.1).

use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};

const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes what belongs to the connection that a head came over: `Connection`, every field that it
/// names, and the known ones. An upgrade that is asked for or agreed to is put back, and so is that
/// trailers are taken (`TE: trailers`), which gRPC asks of every hop.
pub(super) fn strip(headers: &mut HeaderMap) {
    let upgrade = upgrade(headers).cloned();
    let trailers = has_token(headers, &TE, b"trailers");
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION)
        .filter_map(|name| HeaderName::from_bytes(name).ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, upgrade);
    }
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// The one protocol that is asked for or agreed to. HTTP itself is not passed on: behind an upgrade to
/// `h2c` the requests of the client would reach the peer unseen.
fn upgrade(headers: &HeaderMap) -> Option<&HeaderValue> {
    let is_http = |token: &[u8]| {
        let begins = |with: &[u8]| {
            let start = token.get(..with.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(with))
        };
        begins(b"h2") || begins(b"http")
    };
    let mut lines = headers.get_all(UPGRADE).into_iter();
    let (first, more) = (lines.next()?, lines.next().is_some());
    let asked = has_token(headers, &CONNECTION, b"upgrade");
    (asked && !more && !tokens(headers, &UPGRADE).any(is_http)).then_some(first)
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &[u8]) -> bool {
    tokens(headers, name).any(|candidate| candidate.eq_ignore_ascii_case(token))
}

/// The members of a comma-separated field, over all its lines. Bytes, because a value that is not text
/// must not hide the tokens beside it.
fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.get_all(name).into_iter();
    lines
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}
