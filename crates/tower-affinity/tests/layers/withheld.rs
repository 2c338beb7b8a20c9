//! Requests from which a browser may have kept our cookie back, and preflights.

use tower_affinity::core::ServiceName;
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{CookieAttributes, SameSite};

use crate::support::{COOKIE_NAME, Seen, Site, ask};

fn site(same_site: SameSite) -> Site {
    let service: ServiceName = "checkout".parse().unwrap();
    let cookie = CookieAttributes::new(&service, true)
        .same_site(same_site)
        .unwrap();
    Site::with(|builder| builder.cookie(cookie))
}

fn has_no_session(seen: &Seen) -> bool {
    seen.is_silent() && seen.affinity().session().is_none()
}

#[test]
fn a_request_is_withheld_exactly_when_a_browser_would_not_have_sent_the_cookie() {
    let sites = [SameSite::Strict, SameSite::Lax, SameSite::None].map(|kind| (kind, site(kind)));
    let (mut withheld, mut all) = (0, 0);
    for from in [
        None,
        Some("none"),
        Some("same-origin"),
        Some("same-site"),
        Some("cross-site"),
    ] {
        for mode in [
            None,
            Some("navigate"),
            Some("cors"),
            Some("no-cors"),
            Some("websocket"),
        ] {
            for dest in [None, Some("document"), Some("iframe"), Some("empty")] {
                for method in ["GET", "HEAD", "POST", "PUT"] {
                    for (same_site, site) in &sites {
                        let fetch = [
                            ("sec-fetch-site", from),
                            ("sec-fetch-mode", mode),
                            ("sec-fetch-dest", dest),
                        ];
                        let headers: Vec<_> = fetch
                            .iter()
                            .filter_map(|(n, v)| Some((*n, (*v)?)))
                            .collect();
                        let seen = site.send(ask(method, "/", &headers));
                        let top_level = mode == Some("navigate")
                            && dest == Some("document")
                            && matches!(method, "GET" | "HEAD");
                        let expected = from == Some("cross-site")
                            && match same_site {
                                SameSite::Strict => true,
                                SameSite::Lax => !top_level,
                                SameSite::None => false,
                            };
                        let cause = seen.affinity().decision().cause.as_str();
                        let what = format!("{same_site:?} {method} {headers:?}");
                        assert_eq!(cause, if expected { "withheld" } else { "new" }, "{what}");
                        assert_eq!(has_no_session(&seen), expected, "{what}");
                        (withheld, all) = (withheld + usize::from(expected), all + 1);
                    }
                }
            }
        }
    }
    // 80 of 400 are cross-site: all of them under strict, all but two under lax
    assert_eq!((withheld, all), (80 + 78, 1_200));
}

#[test]
fn who_sends_our_cookie_or_the_header_has_kept_nothing_back() {
    let site = Site::new();
    let cross = ("sec-fetch-site", "cross-site");
    let token = site.token("B");
    let cookie = format!("{COOKIE_NAME}={token}");
    assert_eq!(
        site.get(&[cross, ("cookie", &cookie)]).said(),
        "pinned/ok@B"
    );
    let asked = site.get(&[cross, ("affinity-pin", "")]);
    assert!(
        asked.said().starts_with("assigned/new@"),
        "{}",
        asked.said()
    );
    assert!(asked.header("affinity-pin").is_some());
    let broken = format!("{COOKIE_NAME}=garbage");
    let seen = site.get(&[cross, ("cookie", &broken)]);
    assert!(
        seen.said().starts_with("assigned/malformed@"),
        "{}",
        seen.said()
    );
    let other = site.get(&[cross, ("cookie", "a=1")]);
    assert!(
        other.said().starts_with("assigned/withheld@"),
        "{}",
        other.said()
    );
}

#[test]
fn withheld_requests_follow_the_weights_and_a_key() {
    let site = Site::new();
    let cross = [("sec-fetch-site", "cross-site")];
    let b = (0..2_000)
        .filter(|_| site.get(&cross).affinity().group() == "B")
        .count();
    // 3.3 sigma of a tenth of 2,000 is 44
    assert!((156..=244).contains(&b), "{b} of 2000 instead of about 200");
    let user = "x-user".parse().unwrap();
    let scope = Scope::new(PathPattern::all()).assign(AssignBy::Header(user));
    let keyed = Site::with(|builder| builder.scope(scope));
    let group = keyed.get(&[("x-user", "u7")]).affinity().group().to_owned();
    for _ in 0..20 {
        let seen = keyed.get(&[cross[0], ("x-user", "u7")]);
        assert_eq!(seen.said(), format!("assigned/withheld@{group}"));
    }
}

#[test]
fn a_preflight_goes_to_the_stable_group_without_a_session() {
    let site = Site::new();
    site.change(|rollout, change| {
        let all = [("A".parse().unwrap(), tower_affinity_testing::weight(0))];
        rollout.weights(&all.into_iter().collect(), change)
    });
    let preflight = [
        ("access-control-request-method", "POST"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "cors"),
    ];
    for _ in 0..20 {
        let seen = site.send(ask("OPTIONS", "/", &preflight));
        assert_eq!(
            seen.said(),
            "assigned/preflight@A",
            "A is stable, all weight is B's"
        );
        assert!(has_no_session(&seen));
    }
    let plain = site.send(ask("OPTIONS", "/", &[]));
    assert_eq!(
        plain.said(),
        "assigned/new@B",
        "no preflight without the header"
    );
    let get = site.get(&preflight[..1]);
    assert_eq!(get.said(), "assigned/new@B", "only OPTIONS is a preflight");
}

#[test]
fn a_preflight_of_a_keyed_scope_goes_to_the_stable_group_too() {
    let user = "x-user".parse().unwrap();
    let scope = Scope::new(PathPattern::all()).assign(AssignBy::Header(user));
    let site = Site::with(|builder| builder.scope(scope));
    for user in 0..50 {
        let user = user.to_string();
        let headers = [
            ("access-control-request-method", "POST"),
            ("x-user", user.as_str()),
        ];
        let seen = site.send(ask("OPTIONS", "/", &headers));
        assert_eq!(seen.said(), "assigned/preflight@A");
    }
}
