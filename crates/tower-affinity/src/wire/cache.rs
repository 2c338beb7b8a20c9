//! Keeps shared caches from storing what belongs to one session or one commit.

use http::header::{CACHE_CONTROL, EXPIRES, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

/// Names that only shared caches read; they go with an answer that becomes private.
const FOR_SHARED_CACHES: [HeaderName; 2] = [
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("surrogate-control"),
];

/// Statuses that a cache may store without being told (RFC 9110, section 15.1).
const HEURISTIC: [u16; 12] = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501];

/// Directives that go when an answer becomes private: those for shared caches, the one that is set
/// anew, and the one that makes caches overlook no-store.
const NOT_FOR_ONE_CLIENT: [&str; 5] = [
    "public",
    "s-maxage",
    "private",
    "proxy-revalidate",
    "must-understand",
];

/// Whether a shared cache may store the answer (RFC 9111, section 3).
pub(super) fn may_be_shared(method: &Method, status: StatusCode, headers: &HeaderMap) -> bool {
    if !matches!(*method, Method::GET | Method::HEAD | Method::POST) {
        return false;
    }
    let (mut told, mut forbidden) = (headers.contains_key(EXPIRES), false);
    // a cache that understands the status is to overlook no-store then (section 5.2.2.3)
    let overlooked = directives(headers).any(|d| name(d).eq_ignore_ascii_case(b"must-understand"));
    for directive in directives(headers) {
        let is = |word: &[u8]| name(directive).eq_ignore_ascii_case(word);
        // with a value, private only speaks of single fields
        forbidden |=
            (is(b"no-store") && !overlooked) || (is(b"private") && !directive.contains(&b'='));
        told |= is(b"public") || is(b"max-age") || is(b"s-maxage");
    }
    let told_apart = FOR_SHARED_CACHES
        .iter()
        .any(|name| headers.contains_key(name));
    told_apart || ((told || is_stored_untold(method, status)) && !forbidden)
}

/// Whether a cache may store an answer that says nothing of it (RFC 9110, section 15.1).
pub(super) fn is_stored_untold(method: &Method, status: StatusCode) -> bool {
    // a 304 freshens what is stored already
    matches!(*method, Method::GET | Method::HEAD)
        && (HEURISTIC.contains(&status.as_u16()) || status == StatusCode::NOT_MODIFIED)
}

/// Keeps the answer out of every cache.
pub(super) fn forbid(headers: &mut HeaderMap) {
    for name in FOR_SHARED_CACHES {
        headers.remove(name);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Makes the answer private to its client, or leaves it unstorable if it is.
pub(super) fn make_private(headers: &mut HeaderMap) {
    for name in FOR_SHARED_CACHES {
        headers.remove(name);
    }
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private"));
        return;
    }
    let no_store = directives(headers).any(|d| name(d).eq_ignore_ascii_case(b"no-store"));
    let mut kept: Vec<&[u8]> = directives(headers)
        .filter(|directive| {
            let name = name(directive);
            !NOT_FOR_ONE_CLIENT
                .iter()
                .any(|shared| name.eq_ignore_ascii_case(shared.as_bytes()))
        })
        .collect();
    if !no_store {
        kept.insert(0, b"private");
    }
    let joined = kept.join(b", ".as_slice());
    // directives that came as header values, joined by commas, are one again
    if let Ok(value) = HeaderValue::from_bytes(&joined) {
        headers.insert(CACHE_CONTROL, value);
    }
}

/// All directives of all lines. They are bytes: a quoted string may hold any, and must not hide
/// what stands beside it.
fn directives(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers
        .get_all(CACHE_CONTROL)
        .iter()
        .flat_map(|line| split_outside_quotes(line.as_bytes()))
        .map(<[u8]>::trim_ascii)
        .filter(|directive| !directive.is_empty())
}

fn name(directive: &[u8]) -> &[u8] {
    let name = directive.split(|byte| *byte == b'=').next();
    name.unwrap_or_default().trim_ascii()
}

/// Splits at commas, but not at those within a quoted string such as `no-cache="a, b"`.
fn split_outside_quotes(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    line.split(move |byte| {
        quoted ^= *byte == b'"';
        *byte == b',' && !quoted
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::HeaderValue;

    use super::*;

    fn private(lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(CACHE_CONTROL, HeaderValue::from_str(line).unwrap());
        }
        headers.insert("surrogate-control", HeaderValue::from_static("max-age=9"));
        make_private(&mut headers);
        assert!(!headers.contains_key("surrogate-control"));
        headers
            .get(CACHE_CONTROL)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// SEC-36.
    #[test]
    fn a_public_answer_becomes_private_and_keeps_the_rest() {
        for (sent, expected) in [
            (&["public, max-age=600"][..], "private, max-age=600"),
            (
                &["max-age=60", "S-MaxAge=600, Public"],
                "private, max-age=60",
            ),
            (&["no-store"], "no-store"),
            (
                &["private=\"x, y\", no-cache=\"set-cookie, a\""],
                "private, no-cache=\"set-cookie, a\"",
            ),
            (&["private"], "private"),
            (
                &["must-understand, no-store, max-age=9"],
                "no-store, max-age=9",
            ),
            (&[], "private"),
        ] {
            assert_eq!(private(sent), expected, "{sent:?}");
        }
    }

    #[test]
    fn only_what_a_shared_cache_may_store_is_touched() {
        let ask = |method: &Method, status: u16, control: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(control) = control {
                headers.insert(CACHE_CONTROL, HeaderValue::from_static(control));
            }
            may_be_shared(method, StatusCode::from_u16(status).unwrap(), &headers)
        };
        assert!(ask(&Method::GET, 200, None));
        assert!(ask(&Method::GET, 304, None));
        assert!(ask(&Method::GET, 500, Some("public, max-age=1")));
        assert!(ask(&Method::POST, 200, Some("max-age=1")));
        assert!(ask(&Method::GET, 200, Some("private=\"x\"")));
        assert!(!ask(&Method::GET, 500, None));
        assert!(!ask(&Method::POST, 200, None));
        assert!(!ask(&Method::PUT, 200, Some("max-age=1")));
        assert!(!ask(&Method::GET, 200, Some("no-store")));
        assert!(!ask(&Method::GET, 200, Some("private, max-age=5")));
    }
}
