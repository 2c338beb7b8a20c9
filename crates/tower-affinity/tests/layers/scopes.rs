//! Scopes: which requests are bound, and how strongly.

use tower_affinity::core::Level;
use tower_affinity::wire::Scope;
use tower_affinity_testing::name;

use crate::support::{Browser, COOKIE_NAME, Seen, Site, TI, ask};

fn site(scopes: &[(&str, Level)]) -> Site {
    Site::with(|builder| {
        scopes.iter().fold(builder, |builder, (path, level)| {
            builder.scope(Scope::new(path.parse().unwrap()).level(*level))
        })
    })
}

fn at(site: &Site, path: &str, token: Option<&str>) -> Seen {
    let cookie = token.map(|token| format!("{COOKIE_NAME}={token}"));
    let headers: Vec<_> = cookie
        .iter()
        .map(|cookie| ("cookie", cookie.as_str()))
        .collect();
    site.send(ask("GET", path, &headers))
}

#[test]
fn the_first_scope_that_matches_counts() {
    let site = site(&[
        ("/app/free/*", Level::None),
        ("/app/*", Level::Group),
        ("/app/free/not", Level::Group),
    ]);
    let token = site.token("B");
    assert_eq!(
        at(&site, "/app/free/not", Some(&token)).said(),
        "bypassed/none@A"
    );
    assert_eq!(at(&site, "/app/x", Some(&token)).said(), "pinned/ok@B");
    assert_eq!(
        at(&site, "/app/?next=/app/free/x", Some(&token)).said(),
        "pinned/ok@B"
    );
    for outside in ["/app", "/apple", "/"] {
        assert_eq!(at(&site, outside, Some(&token)).said(), "bypassed/none@A");
    }
}

/// C005. Outside of every scope the stable group serves, where the case draws by weights; the
/// cookie has the path `/`, as its prefix promises, and the scope is a rule of ours alone.
#[test]
fn c005_a_request_outside_of_every_scope_sets_no_pin_and_disturbs_none() {
    let site = site(&[("/path/*", Level::Group)]);
    let token = at(&site, "/path/x", None).cookie().expect("a pin");
    let line = at(&site, "/path/x", None).set_cookies()[0].to_owned();
    assert!(line.contains("; Path=/;"), "{line}");
    for token in [None, Some(token.as_str())] {
        let seen = at(&site, "/favicon.ico", token);
        assert_eq!(seen.said(), "bypassed/none@A");
        assert!(seen.is_silent());
        assert!(
            seen.forwarded("cookie").is_empty(),
            "our cookie was forwarded"
        );
        assert_eq!(seen.header("cache-control"), None);
    }
}

/// C060. The stable group serves them, where the case draws by weights.
#[test]
fn c060_a_scope_without_affinity_reads_and_writes_no_pin() {
    let site = site(&[("/static/*", Level::None), ("/*", Level::Group)]);
    let token = site.token("B");
    site.advance(TI / 2);
    for token in [None, Some(token.as_str()), Some("garbage")] {
        let seen = at(&site, "/static/robots.txt", token);
        assert_eq!(seen.said(), "bypassed/none@A");
        assert!(seen.is_silent());
        assert_eq!(seen.affinity().session(), None);
        assert_eq!(seen.affinity().decision().cohort.as_str(), "none");
    }
}

#[test]
fn a_follower_goes_where_its_session_is_and_never_writes() {
    let site = site(&[("/static/*", Level::Follow), ("/*", Level::Group)]);
    let path = "/static/app.js";
    let token = site.token("B");
    assert_eq!(at(&site, path, None).said(), "bypassed/follow@A");
    assert_eq!(at(&site, path, Some("garbage")).said(), "bypassed/follow@A");
    site.advance(TI / 2);
    site.app.says(
        200,
        &[
            ("cache-control", "public, max-age=600"),
            ("affinity-session", "end"),
        ],
    );
    let seen = at(&site, path, Some(&token));
    assert_eq!(seen.said(), "bypassed/follow@B");
    assert!(seen.is_silent(), "a due pin was renewed or cleared");
    assert_eq!(seen.header("cache-control"), Some("public, max-age=600"));
    let by_header = site.send(ask("GET", path, &[("affinity-pin", &token)]));
    assert_eq!(by_header.said(), "bypassed/follow@B");
    assert!(by_header.is_silent());
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    assert_eq!(at(&site, path, Some(&token)).said(), "bypassed/follow@B");
    site.abort("B");
    let seen = at(&site, path, Some(&token));
    assert_eq!(seen.said(), "bypassed/follow@A");
    assert!(seen.is_silent());
}

#[test]
fn a_connection_scope_draws_each_request_anew_and_knows_no_session() {
    let site = site(&[("/*", Level::Connection)]);
    let token = site.token("B");
    let groups = (0..2_000).map(|_| {
        let seen = at(&site, "/", Some(&token));
        assert!(seen.is_silent());
        assert_eq!(seen.affinity().session(), None);
        seen.affinity().group() == "B"
    });
    let b = groups.filter(|b| *b).count();
    assert!((156..=244).contains(&b), "{b} of 2000 instead of about 200");
    let seen = at(&site, "/", None);
    assert_eq!(
        seen.header("cache-control"),
        Some("private"),
        "above follow answers are private"
    );
}

#[test]
fn one_pin_serves_all_scopes_of_a_service() {
    let site = site(&[("/one/*", Level::Group), ("/two/*", Level::Group)]);
    let token = at(&site, "/one/x", None).cookie().unwrap();
    let seen = at(&site, "/two/x", Some(&token));
    assert!(seen.said().starts_with("pinned/ok@"), "{}", seen.said());
    assert!(seen.is_silent());
}

/// C080: services have cookies of their own, which `/` sends to both.
#[test]
fn c080_two_services_on_one_host_do_not_overwrite_each_other() {
    let sites = ["one", "two"].map(|service| Site::with(|builder| builder.service(service)));
    let (mut browser, mut cookies) = (Browser::default(), 0);
    let mut groups: [Option<String>; 2] = [None, None];
    for request in 0..40 {
        let site = &sites[request % 2];
        let seen = browser.get(site);
        cookies += seen.set_cookies().len();
        let group = groups[request % 2].get_or_insert_with(|| seen.affinity().group().to_owned());
        assert_eq!(
            seen.affinity().group(),
            group,
            "request {request}: {}",
            seen.said()
        );
        if request > 1 {
            assert_eq!(
                seen.forwarded("cookie").len(),
                1,
                "the other service's cookie was taken"
            );
        }
    }
    assert_eq!(cookies, 2);
}
