//! A shared cache in front: it hands nobody another client's pin or another group's answer.

use std::collections::HashMap;

use http::header::{AUTHORIZATION, CACHE_CONTROL, EXPIRES, SET_COOKIE, VARY};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use tower_affinity::Affinity;
use tower_affinity::core::Clock;
use tower_affinity::wire::{CachePolicy, PathPattern, Scope};

use crate::support::{Body, Browser, COOKIE_NAME, Seen, Site, TI, ask, texts};

/// A cache that stores all that RFC 9111 lets a shared cache store, and hands it to everybody.
#[derive(Default)]
struct SharedCache(HashMap<String, HeaderMap>);

enum Answer {
    Stored(HeaderMap),
    Fresh(Box<Seen>),
}

impl SharedCache {
    fn get(&mut self, site: &Site, request: Request<Body>) -> Answer {
        let path = request.uri().path().to_owned();
        let authorized = request.headers().contains_key(AUTHORIZATION);
        if request.method() == Method::GET
            && let Some(headers) = self.0.get(&path)
        {
            return Answer::Stored(headers.clone());
        }
        let cacheable = request.method() == Method::GET && !authorized;
        let seen = site.send(request);
        if cacheable && may_store(&seen.response) {
            self.0.insert(path, seen.response.headers().clone());
        }
        Answer::Fresh(Box::new(seen))
    }
}

fn may_store(response: &Response<Body>) -> bool {
    let headers = response.headers();
    // a cache that knows a field of its own obeys that one alone
    for own in ["cdn-cache-control", "surrogate-control"] {
        if let Some(control) = headers.get(own) {
            return !control.to_str().unwrap().contains("no-store");
        }
    }
    let control = texts(headers, CACHE_CONTROL.as_str())
        .join(",")
        .to_ascii_lowercase();
    let directives = || control.split(',').map(str::trim);
    let has = |wanted: &str| directives().any(|directive| directive == wanted);
    // this cache understands the status, so must-understand overrides no-store
    let no_store = has("no-store") && !has("must-understand");
    if no_store || has("private") || headers.contains_key(VARY) {
        return false;
    }
    let told = directives()
        .any(|d| d == "public" || d.starts_with("max-age=") || d.starts_with("s-maxage="));
    let heuristic = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501];
    told || headers.contains_key(EXPIRES) || heuristic.contains(&response.status().as_u16())
}

/// An application whose answers name their group and say `headers`.
fn answers(site: &Site, status: u16, headers: &'static [(&'static str, &'static str)]) {
    site.app.answers(move |request| {
        let affinity = request.extensions().get::<Affinity>().unwrap();
        let mut response = Response::new(Full::from(affinity.group().to_owned()));
        *response.status_mut() = status.try_into().unwrap();
        for (name, value) in headers {
            response
                .headers_mut()
                .append(*name, HeaderValue::from_static(value));
        }
        response
    });
}

const APPLICATIONS: [(u16, &[(&str, &str)]); 12] = [
    (200, &[]),
    (200, &[("cache-control", "public, max-age=600")]),
    (
        200,
        &[
            ("cache-control", "max-age=60"),
            ("cache-control", "s-maxage=600, Public"),
        ],
    ),
    (
        200,
        &[("cache-control", "private=\"x-a, set-cookie\", max-age=9")],
    ),
    (200, &[("expires", "Thu, 01 Jan 2037 00:00:00 GMT")]),
    (
        200,
        &[
            ("cache-control", "no-store"),
            ("cdn-cache-control", "max-age=60"),
        ],
    ),
    (
        200,
        &[
            ("cache-control", "private"),
            ("surrogate-control", "max-age=60"),
        ],
    ),
    (
        200,
        &[("cache-control", "must-understand, no-store, max-age=60")],
    ),
    (404, &[]),
    (301, &[("location", "/x")]),
    (500, &[("cache-control", "max-age=1")]),
    (503, &[("cache-control", "public, stale-if-error=60")]),
];

/// SEC-36, C056: the answer becomes private and carries the pin; the case leaves the pin out.
#[test]
fn c056_no_client_gets_anothers_pin_or_another_groups_answer_out_of_a_shared_cache() {
    for (status, headers) in APPLICATIONS {
        let site = Site::new();
        answers(&site, status, headers);
        let mut cache = SharedCache::default();
        let mut browsers = vec![Browser::default(); 12];
        for round in 0..3 {
            for browser in &mut browsers {
                let request = browser.request(site.clock.now(), "GET", "/page", &[]);
                let Answer::Fresh(seen) = cache.get(&site, request) else {
                    panic!("{status} {headers:?} came out of the cache")
                };
                assert_eq!(seen.body(), seen.affinity().group());
                assert_eq!(seen.cookie().is_some(), round == 0);
                browser.take(&seen, site.clock.now());
            }
            site.advance(1);
        }
    }
}

#[test]
fn an_answer_to_a_session_says_nothing_that_a_shared_cache_could_read() {
    let site = Site::new();
    let token = site.token("B");
    answers(
        &site,
        200,
        &[
            (
                "cache-control",
                "public, max-age=60, s-maxage=600, must-revalidate",
            ),
            ("cdn-cache-control", "max-age=60"),
            ("surrogate-control", "max-age=60"),
        ],
    );
    let seen = site.get_with(&token);
    assert_eq!(
        texts(seen.response.headers(), "cache-control"),
        ["private, max-age=60, must-revalidate"]
    );
    assert_eq!(seen.header("cdn-cache-control"), None);
    assert_eq!(seen.header("surrogate-control"), None);
    answers(&site, 200, &[("cache-control", "no-store, max-age=0")]);
    assert_eq!(
        site.get_with(&token).header("cache-control"),
        Some("no-store, max-age=0")
    );
    assert_eq!(
        site.get(&[]).header("cache-control"),
        Some("no-store, max-age=0")
    );
}

/// Quoted text in a directive may be any bytes.
#[test]
fn directives_that_are_not_ascii_do_not_hide_the_others() {
    let site = Site::new();
    let token = site.token("A");
    for (sent, expected) in [
        (
            &b"public, max-age=60, x=\"\xe9\""[..],
            &b"private, max-age=60, x=\"\xe9\""[..],
        ),
        (b"no-store, x=\"\xe9\"", b"no-store, x=\"\xe9\""),
    ] {
        site.app.answers(move |_| {
            let mut response = Response::new(Full::from("x"));
            *response.status_mut() = 500.try_into().unwrap();
            let control = HeaderValue::from_bytes(sent).unwrap();
            response.headers_mut().insert(CACHE_CONTROL, control);
            response
        });
        let seen = site.get_with(&token);
        assert_eq!(seen.response.headers()[CACHE_CONTROL].as_bytes(), expected);
    }
}

#[test]
fn an_answer_that_no_cache_may_store_stays_as_it_is_unless_it_sets_a_pin() {
    let site = Site::new();
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    let post = |headers: &[(&str, &str)]| site.send(ask("POST", "/", headers));
    assert_eq!(post(&[("cookie", &cookie)]).header("cache-control"), None);
    assert_eq!(post(&[]).header("cache-control"), Some("private"));
    let put = site.send(ask("PUT", "/", &[("cookie", &cookie)]));
    assert_eq!(put.header("cache-control"), None);
    answers(&site, 500, &[]);
    assert_eq!(
        site.get(&[("cookie", &cookie)]).header("cache-control"),
        None
    );
    assert_eq!(site.get(&[]).header("cache-control"), Some("private"));
}

#[test]
fn a_scope_that_keeps_its_caching_lets_no_pin_into_a_cache() {
    let keep = || Scope::new(PathPattern::all()).cache(CachePolicy::Keep);
    for (status, headers) in APPLICATIONS {
        let site = Site::with(|builder| builder.scope(keep()));
        answers(&site, status, headers);
        let mut cache = SharedCache::default();
        let first = site.get(&[]);
        assert!(first.cookie().is_some());
        assert!(
            !may_store(&first.response),
            "{status} {headers:?} stores a pin"
        );
        // a pinned answer stays as the application made it, and a cache may hand it on
        let cookie = format!("{COOKIE_NAME}={}", first.cookie().unwrap());
        let pinned = site.get(&[("cookie", &cookie)]);
        for (name, value) in headers {
            assert!(
                texts(pinned.response.headers(), name).contains(value),
                "{name} changed"
            );
        }
        cache.get(&site, ask("GET", "/page", &[("cookie", &cookie)]));
        if let Answer::Stored(headers) = cache.get(&site, ask("GET", "/page", &[])) {
            assert!(!headers.contains_key(SET_COOKIE) && !headers.contains_key("affinity-pin"));
        }
        site.advance(TI / 2);
        let renewed = site.get(&[("cookie", &cookie)]);
        assert!(renewed.cookie().is_some() && !may_store(&renewed.response));
    }
}
