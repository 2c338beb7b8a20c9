//! What a browser says of a request: that it loads a page, and whether the page is a whole new one.

use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

pub(super) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");
const PURPOSE: HeaderName = HeaderName::from_static("purpose");

/// Whether a browser shows the answer as a page, be it in a frame.
pub(crate) fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    match headers.get(SEC_FETCH_MODE) {
        Some(mode) => mode == "navigate",
        // browsers before fetch metadata, and everything that wants a page
        None => *method == Method::GET && headers.get(ACCEPT).is_some_and(wants_html),
    }
}

/// Whether a tab goes to a new document, as far as its browser says so.
pub(super) fn is_top_level(headers: &HeaderMap) -> bool {
    let is = |name: HeaderName, value: &str| headers.get(name).is_some_and(|is| is == value);
    is(SEC_FETCH_MODE, "navigate") && is(SEC_FETCH_DEST, "document")
}

/// Whether the page that a tab shows is left for this one. One that is only fetched ahead leaves
/// the old page where it is, which goes on asking for its own.
pub(super) fn is_page_load(method: &Method, headers: &HeaderMap) -> bool {
    matches!(*method, Method::GET | Method::HEAD) && is_top_level(headers) && !is_ahead(headers)
}

/// Whether the request is made before anybody has asked for the page.
fn is_ahead(headers: &HeaderMap) -> bool {
    let lines = [SEC_PURPOSE, PURPOSE].map(|name| headers.get_all(name).into_iter());
    lines.into_iter().flatten().any(|line| {
        let mut words = line.as_bytes().split(|byte| b",;".contains(byte));
        words.any(|word| word.trim_ascii().eq_ignore_ascii_case(b"prefetch"))
    })
}

fn wants_html(accept: &HeaderValue) -> bool {
    accept
        .to_str()
        .is_ok_and(|accept| accept.contains("text/html"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn loads(method: &Method, lines: &[(&str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        is_page_load(method, &headers)
    }

    #[test]
    fn only_what_replaces_the_page_of_a_tab_is_a_page_load() {
        let (mode, dest) = (
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        );
        assert!(loads(&Method::GET, &[mode, dest]));
        assert!(loads(&Method::HEAD, &[mode, dest]));
        assert!(
            !loads(&Method::POST, &[mode, dest]),
            "a form may be a step of a flow"
        );
        for lines in [
            &[][..],
            &[mode],
            &[dest],
            &[("accept", "text/html")],
            &[mode, ("sec-fetch-dest", "iframe")],
            &[("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")],
            &[mode, dest, ("sec-purpose", "prefetch")],
            &[mode, dest, ("sec-purpose", "prefetch;prerender")],
            &[mode, dest, ("purpose", "Prefetch")],
        ] {
            assert!(!loads(&Method::GET, lines), "{lines:?}");
        }
    }
}
