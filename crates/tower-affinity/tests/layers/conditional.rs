//! Conditional requests: the first answer of a session on a commit is whole.

use crate::support::{COOKIE_NAME, Seen, Site, TI, ask};

const CONDITIONS: [(&str, &str); 4] = [
    ("if-none-match", "\"e\""),
    ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("range", "bytes=0-9"),
    ("if-range", "\"e\""),
];

fn sent(site: &Site, method: &str, cookie: Option<&str>) -> Seen {
    let mut headers = CONDITIONS.to_vec();
    headers.extend([("if-match", "\"e\""), ("accept", "*/*")]);
    headers.extend(cookie.map(|cookie| ("cookie", cookie)));
    site.send(ask(method, "/", &headers))
}

fn arrived(seen: &Seen) -> usize {
    let there = CONDITIONS
        .iter()
        .filter(|(name, _)| !seen.forwarded(name).is_empty());
    assert_eq!(
        seen.forwarded("if-match").len(),
        1,
        "a precondition was taken away"
    );
    assert_eq!(seen.forwarded("accept").len(), 1);
    there.count()
}

#[test]
fn conditions_are_taken_off_where_a_session_begins_or_moves_and_only_there() {
    let site = Site::new();
    let b = format!("{COOKIE_NAME}={}", site.token("B"));
    for method in ["GET", "HEAD"] {
        assert_eq!(arrived(&sent(&site, method, None)), 0, "{method} assigned");
        assert_eq!(
            arrived(&sent(&site, method, Some("a=1"))),
            0,
            "{method} assigned"
        );
        assert_eq!(
            arrived(&sent(&site, method, Some(&b))),
            4,
            "{method} pinned"
        );
    }
    assert_eq!(
        arrived(&sent(&site, "POST", None)),
        4,
        "only GET and HEAD are conditional"
    );
    site.abort("B");
    for method in ["GET", "HEAD"] {
        let seen = sent(&site, method, Some(&b));
        assert_eq!(seen.said(), "moved/aborted@A");
        assert_eq!(arrived(&seen), 0, "{method} moved");
    }
    assert_eq!(arrived(&sent(&site, "POST", Some(&b))), 4);
}

/// SEC-38.
#[test]
fn a_304_carries_no_pin_and_the_next_answer_does() {
    let site = Site::new();
    let token = site.token("A");
    site.advance(TI / 2);
    site.app.says(304, &[("etag", "\"e\"")]);
    assert!(site.get_with(&token).is_silent());
    assert!(
        site.get(&[]).is_silent(),
        "also where the application makes one unasked"
    );
    site.app.says(200, &[]);
    assert!(site.get_with(&token).cookie().is_some());
}
