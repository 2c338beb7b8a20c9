//! Shared caches in front, and answers that carry no pin.

use std::collections::BTreeMap;

use super::support::{Reply, Site, Talk, get, talk};

/// A shared cache that stores whatever it may, by path.
#[derive(Debug, Default)]
struct SharedCache(BTreeMap<String, Reply>);

impl SharedCache {
    /// Answers from the store, or from behind.
    async fn get(&mut self, site: &Site, path: &str, lines: &str) -> Reply {
        if let Some(stored) = self.0.get(path) {
            return stored.clone();
        }
        let head = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{lines}\r\n");
        let reply = talk(site.address(), head).await;
        if Self::may_store(&reply) {
            self.0.insert(path.to_owned(), reply.clone());
        }
        reply
    }

    /// As greedy as RFC 9111 allows, with both dialects of content delivery networks.
    fn may_store(reply: &Reply) -> bool {
        for name in ["cdn-cache-control", "surrogate-control"] {
            if let Some(value) = reply.field(name) {
                return value.contains("max-age");
            }
        }
        let all = reply.fields("cache-control").join(",").to_ascii_lowercase();
        let has = |word: &str| all.split(',').any(|part| part.trim() == word);
        if has("no-store") && !has("must-understand") || has("private") {
            return false;
        }
        let told = ["public", "max-age", "s-maxage"]
            .iter()
            .any(|word| all.contains(word));
        told || reply.field("expires").is_some() || matches!(reply.status(), 200 | 203 | 404 | 410)
    }
}

#[tokio::test]
async fn sec_36_one_visitors_pin_is_not_stored_for_another() {
    let site = Site::start().await;
    for lines in [
        "cache-control: public, max-age=600\r\n",
        "cache-control: s-maxage=600\r\n",
        "Cache-Control: max-age=600\r\nCache-Control: PUBLIC\r\n",
        "cache-control: max-age=600, private=\"x\"\r\n",
        "cache-control: no-store, must-understand, max-age=600\r\n",
        "cache-control: \"\r\n",
        "cdn-cache-control: max-age=600\r\n",
        "surrogate-control: max-age=600\r\ncache-control: private\r\n",
        "expires: Wed, 21 Oct 2099 07:28:00 GMT\r\n",
        "age: 1\r\n",
        "",
    ] {
        for status in ["200 OK", "404 Not Found", "301 Moved"] {
            site.a.answer(format!(
                "HTTP/1.1 {status}\r\n{lines}content-length: 2\r\n\r\nok"
            ));
            let mut cache = SharedCache::default();
            let first = cache.get(&site, "/page", "").await;
            let pin = first.pin().expect("the first visitor gets a pin");
            let second = cache.get(&site, "/page", "").await;
            assert_ne!(
                second.pin().as_ref(),
                Some(&pin),
                "{status} {lines}{}",
                first.text()
            );
            assert!(cache.0.is_empty(), "stored: {}", first.text());
            // without a pin of its own as well: it is the page of one commit
            let pinned = format!("cookie: {}={pin}\r\n", affinity_tests::config::COOKIE);
            cache.get(&site, "/page", &pinned).await;
            assert!(cache.0.is_empty(), "stored without a pin: {status} {lines}");
        }
    }
}

#[tokio::test]
async fn sec_36_a_header_pin_is_not_stored_either() {
    let site = Site::start().await;
    site.a
        .answer("HTTP/1.1 200 OK\r\ncache-control: public, max-age=9\r\ncontent-length: 0\r\n\r\n");
    let mut cache = SharedCache::default();
    let reply = cache.get(&site, "/", "affinity-pin:\r\n").await;
    assert!(
        reply.field("affinity-pin").is_some(),
        "it was asked for: {}",
        reply.text()
    );
    assert_eq!(reply.fields("set-cookie").len(), 0);
    assert!(cache.0.is_empty(), "stored: {}", reply.text());
}

#[tokio::test]
async fn sec_38_a_304_sets_no_pin_even_when_one_is_due() {
    let site = Site::start().await;
    let pin = site.pin_a().await;
    site.pass(600);
    site.a
        .answer("HTTP/1.1 304 Not Modified\r\netag: \"1\"\r\n\r\n");
    let lines = format!(
        "cookie: {}={pin}\r\nif-none-match: \"1\"\r\n",
        affinity_tests::config::COOKIE
    );
    let reply = talk(site.address(), get(&lines)).await;
    assert_eq!(reply.status(), 304, "{}", reply.text());
    assert_eq!(reply.fields("set-cookie").len(), 0, "{}", reply.text());
    assert_eq!(
        site.a.take()[0].field("if-none-match").as_deref(),
        Some("\"1\"")
    );
    site.a.answer("");
    assert!(
        site.show(&pin).await.pin().is_some(),
        "the next answer renews it"
    );
}

#[tokio::test]
async fn sec_38_only_the_final_answer_sets_a_pin() {
    let site = Site::start().await;
    let hints =
        "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\nset-cookie: x=1\r\n\r\n";
    let final_one = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    site.a.answer(format!(
        "{hints}{hints}HTTP/1.1 100 Continue\r\n\r\n{final_one}"
    ));
    let reply = talk(site.address(), get("")).await;
    let text = reply.text();
    let last = text
        .rfind("HTTP/1.1 200 OK")
        .unwrap_or_else(|| panic!("no answer: {text}"));
    assert!(
        !text[..last].contains("affinity"),
        "an interim answer carries a pin: {text}"
    );
    assert_eq!(
        text[last..].matches("__Host-affinity-checkout=").count(),
        1,
        "{text}"
    );
}

#[tokio::test]
async fn sec_38_a_switch_of_protocols_carries_its_pin() {
    let site = Site::start().await;
    site.a
        .answer("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
    let mut talk = Talk::open(site.address()).await;
    talk.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
        .await;
    let reply = talk.answer().await;
    assert_eq!(reply.status(), 101, "{}", reply.text());
    assert!(reply.pin().is_some(), "{}", reply.text());
}
