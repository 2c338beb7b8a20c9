//! Conditional requests: a first or moved answer is whole and of one commit.

use affinity_tests::config::COOKIE;
use serde_json::json;

use super::support::{B, Site, get, talk};

const CONDITIONS: &str = "if-none-match: \"1\"\r\nif-modified-since: Wed, 21 Oct 2015 07:28:00 GMT\r\n\
                          range: bytes=0-1\r\nif-range: \"1\"\r\n";
const NAMES: [&str; 4] = ["if-none-match", "if-modified-since", "range", "if-range"];

#[tokio::test]
async fn sec_38_first_and_moved_answers_are_asked_for_as_a_whole() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let ours = format!("cookie: {COOKIE}={pin}\r\n{CONDITIONS}");
    talk(site.address(), get(&ours)).await;
    let seen = site.b.take().remove(0);
    for name in NAMES {
        assert!(
            seen.field(name).is_some(),
            "{name} of a pinned request passes"
        );
    }
    site.admin().verb(B, "abort", &json!({})).await.accepted();
    for lines in [
        CONDITIONS.to_owned(),
        ours,
        format!("cookie: {COOKIE}=x\r\n{CONDITIONS}"),
    ] {
        for method in ["GET", "HEAD"] {
            let request = get(&lines);
            let request = [method.as_bytes(), &request[3..]].concat();
            talk(site.address(), request).await;
            let seen = site.a.take().remove(0);
            for name in NAMES {
                assert_eq!(seen.field(name), None, "{method} {}", seen.decision());
            }
        }
    }
}

#[tokio::test]
async fn conditions_that_guard_a_write_stay() {
    let site = Site::start().await;
    let lines = "if-match: \"1\"\r\nif-none-match: *\r\ncontent-length: 2\r\n\r\nok";
    let request = format!("PUT / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{lines}");
    talk(site.address(), request).await;
    let seen = site.a.take().remove(0);
    assert_eq!(seen.field("if-match").as_deref(), Some("\"1\""));
    assert_eq!(seen.field("if-none-match").as_deref(), Some("*"));
    // a range without a condition has no stored part to be joined with
    talk(
        site.address(),
        get("range: bytes=0-1\r\nif-match: \"1\"\r\n"),
    )
    .await;
    let seen = site.a.take().remove(0);
    assert_eq!(seen.field("if-match").as_deref(), Some("\"1\""));
}

#[tokio::test]
async fn a_page_of_another_site_neither_begins_a_session_nor_replaces_one() {
    let site = Site::start().await;
    for (lines, cause) in [
        (
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: cors\r\nsec-fetch-dest: empty\r\n",
            Some("withheld"),
        ),
        (
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\nsec-fetch-dest: image\r\n",
            Some("withheld"),
        ),
        (
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: iframe\r\n",
            Some("withheld"),
        ),
        (
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n",
            None,
        ),
        (
            "sec-fetch-site: same-origin\r\nsec-fetch-mode: cors\r\n",
            None,
        ),
    ] {
        let reply = talk(site.address(), get(lines)).await;
        let seen = site.a.take().remove(0);
        let expected = cause.unwrap_or("new");
        assert_eq!(
            seen.decision(),
            format!("assigned; cause={expected}"),
            "{lines}"
        );
        assert_eq!(
            reply.fields("set-cookie").is_empty(),
            cause.is_some(),
            "{lines}"
        );
        assert_eq!(
            seen.field("affinity-session").is_none(),
            cause.is_some(),
            "{lines}"
        );
    }
    let preflight = get("origin: http://evil.example\r\naccess-control-request-method: PUT\r\n");
    let reply = talk(site.address(), [b"OPTIONS", &preflight[3..]].concat()).await;
    assert_eq!(site.a.take()[0].decision(), "assigned; cause=preflight");
    assert!(reply.fields("set-cookie").is_empty());
}
