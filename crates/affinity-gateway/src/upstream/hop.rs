//! Fields that belong to one connection and end here (RFC 9110, section 7.6.1).

use http::{HeaderMap, HeaderName, header};

/// What of interest is among the names of a head: most heads have none of it, and one look at all
/// names is cheaper than a search for each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// A field that [`strip`] may remove, or that says what it removes.
    pub(super) hop: bool,
    pub(super) expect: bool,
    /// A field that tells of a client, or reads like one.
    pub(super) forwarded: bool,
}

impl Found {
    pub(super) fn among(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        for name in headers.keys() {
            let name = name.as_str();
            // few names begin with any of these
            match name.as_bytes().first() {
                Some(b'c') => found.hop |= name == "connection",
                Some(b'e') => found.expect |= name == "expect",
                Some(b'f') => found.forwarded |= name == "forwarded",
                Some(b'h') => found.hop |= name == "http2-settings",
                Some(b'k') => found.hop |= name == "keep-alive",
                Some(b'p') => found.hop |= name.starts_with("proxy"),
                Some(b't') => found.hop |= name == "te" || name == "transfer-encoding",
                Some(b'u') => found.hop |= name == "upgrade",
                // with any sign for the hyphens
                Some(b'x') => found.forwarded |= name.get(2..11) == Some("forwarded"),
                _ => {}
            }
        }
        found
    }
}

/// Removes what belongs to the connection that `headers` came over: `Connection`, every field it
/// names, and the known ones.
///
/// Names beginning with `affinity-`, and those of the trace, stay although a client lists them: its
/// own were removed before, so these are ours, and a trace goes from end to end. `Trailer` stays too: it announces fields that are passed on.
pub(super) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &header::CONNECTION)
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        .filter(|name| !is_ours(name))
        .collect();
    for name in &named {
        headers.remove(name);
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
    let proxy: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str() == "proxy" || name.as_str().starts_with("proxy-"))
        .cloned()
        .collect();
    for name in &proxy {
        headers.remove(name);
    }
}

/// Whether the comma-separated field `name` holds `token`, in any case.
pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|candidate| candidate.eq_ignore_ascii_case(token.as_bytes()))
}

/// The members of the comma-separated field `name`, over all its lines. Bytes, because a value
/// that is not text must not hide the tokens beside it.
pub(super) fn tokens<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a [u8]> {
    headers
        .get_all(name)
        .into_iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

fn is_ours(name: &HeaderName) -> bool {
    name.as_str().starts_with("affinity-") || name == "traceparent" || name == "tracestate"
}

const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("http2-settings"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
