//! What goes on with a session to the services further down.

use http::Request;
use tower::Layer;
use tower_affinity::core::{Level, Revision, SessionPin};
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{AffinityLayer, BuildError, GroupTagLayer, Keyring, Propagation};
use tower_affinity_testing::rollout;

use crate::support::{Body, COOKIE_NAME, K1, Seen, Site, TI, ask, at_once};

/// A site whose sessions go on.
fn site() -> Site {
    Site::with(|builder| builder.scope(Scope::new(PathPattern::all()).propagate(true)))
}

/// As [`Site::send`], with the layer that sets names in between, as in a gateway.
fn through(site: &Site, request: Request<Body>) -> Seen {
    let tagged = GroupTagLayer::new().layer(site.app.clone());
    let response = at_once(tower::ServiceExt::oneshot(
        site.layer.layer(tagged),
        request,
    ));
    Seen {
        response: response.unwrap(),
        forwarded: site.app.last(),
    }
}

fn get(site: &Site, headers: &[(&str, &str)]) -> Seen {
    through(site, ask("GET", "/", headers))
}

fn with_cookie(site: &Site, token: &str) -> Seen {
    get(site, &[("cookie", &format!("{COOKIE_NAME}={token}"))])
}

/// The pin that the endpoint got.
fn handed_on(seen: &Seen) -> Option<String> {
    let mut lines = seen.forwarded("affinity-pin").into_iter();
    let first = lines.next()?;
    assert_eq!(lines.next(), None, "the header is set twice");
    Some(String::from_utf8(first).unwrap())
}

/// What a handler would take along to `http://price/`.
fn outgoing(seen: &Seen) -> http::HeaderMap {
    let request = seen.forwarded.as_ref().expect("a request that was served");
    let propagation = request.extensions().get::<Propagation>();
    let mut headers = http::HeaderMap::new();
    propagation.expect("a context").apply(&mut headers);
    headers
}

/// C016.
#[test]
fn c016_the_endpoint_gets_the_very_bytes_that_the_answer_carries() {
    let site = site();
    let new = get(&site, &[]);
    assert_eq!(handed_on(&new), new.cookie(), "a new session");
    assert_eq!(outgoing(&new)["affinity-pin"], new.cookie().unwrap());

    let first = new.cookie().unwrap();
    site.advance(TI / 2);
    let renewed = with_cookie(&site, &first);
    assert!(renewed.cookie().is_some(), "half of the idle time is used");
    assert_eq!(handed_on(&renewed), renewed.cookie(), "a renewed one");

    let token = site.token("B");
    site.abort("B");
    let moved = with_cookie(&site, &token);
    assert!(moved.said().starts_with("moved/aborted@"));
    assert_eq!(handed_on(&moved), moved.cookie(), "a moved one");
}

#[test]
fn a_pin_that_is_still_good_goes_on_as_it_came() {
    let site = site();
    let token = site.token("B");
    let by_cookie = with_cookie(&site, &token);
    assert_eq!(by_cookie.said(), "pinned/ok@B");
    assert!(by_cookie.is_silent());
    assert_eq!(handed_on(&by_cookie).as_deref(), Some(token.as_str()));

    let other = site.token("A");
    let cookie = format!("{COOKIE_NAME}={other}");
    let by_header = get(&site, &[("affinity-pin", &token), ("cookie", &cookie)]);
    assert_eq!(by_header.said(), "pinned/ok@B");
    assert_eq!(handed_on(&by_header).as_deref(), Some(token.as_str()));
}

#[test]
fn of_several_pins_the_one_goes_on_that_counts() {
    let site = site();
    let old = site.seal(&SessionPin {
        revision: Revision(9),
        ..site.pin("A")
    });
    let token = site.token("B");
    for pair in [[&old, &token], [&token, &old]] {
        let cookie = pair
            .map(|token| format!("{COOKIE_NAME}={token}"))
            .join("; ");
        let seen = get(&site, &[("cookie", &cookie)]);
        assert_eq!(seen.said(), "pinned/ok@B");
        assert_eq!(handed_on(&seen).as_deref(), Some(token.as_str()));
    }
}

#[test]
fn a_header_client_gets_the_bytes_of_the_endpoint() {
    let site = site();
    let seen = get(&site, &[("affinity-pin", "")]);
    assert_eq!(handed_on(&seen).as_deref(), seen.header("affinity-pin"));
    assert!(handed_on(&seen).is_some());
}

#[test]
fn what_the_endpoint_says_is_sealed_anew_and_its_own_pin_was_that_of_its_moment() {
    let site = site();
    site.app.says(200, &[("affinity-outcome", "success")]);
    let seen = get(&site, &[]);
    let (endpoint, client) = (handed_on(&seen).unwrap(), seen.cookie().unwrap());
    assert_ne!(endpoint, client, "the outcome is not in the client's pin");
    assert_eq!(site.open(&endpoint).session, site.open(&client).session);
    site.app.says(200, &[("affinity-session", "end")]);
    let ended = with_cookie(&site, &client);
    assert_eq!(handed_on(&ended).as_deref(), Some(client.as_str()));
    assert_eq!(ended.cookie().as_deref(), Some(""), "the pin is cleared");
}

#[test]
fn a_pin_of_an_aborted_group_stays_away_from_the_client_though_the_endpoint_had_it() {
    let site = site();
    let token = site.token("B");
    site.advance(TI / 2);
    let tagged = GroupTagLayer::new().layer(site.app.clone());
    let cookie = format!("{COOKIE_NAME}={token}");
    let rollouts = site.rollouts.clone();
    let now = tower_affinity::core::Clock::now(&site.clock);
    site.app.answers(move |_| {
        let abort = |rollout: &tower_affinity::core::Rollout| {
            let request = tower_affinity::core::AbortRequest::default();
            let change = tower_affinity_testing::after(rollout, now);
            let ready = &tower_affinity::core::AlwaysReady;
            rollout.abort(&tower_affinity_testing::name("B"), &request, ready, change)
        };
        rollouts.update(abort).unwrap();
        http::Response::new(Body::from("slow"))
    });
    let request = ask("GET", "/", &[("cookie", &cookie)]);
    let response = at_once(tower::ServiceExt::oneshot(
        site.layer.layer(tagged),
        request,
    ));
    let seen = Seen {
        response: response.unwrap(),
        forwarded: site.app.last(),
    };
    assert_eq!(seen.said(), "pinned/ok@B");
    assert!(handed_on(&seen).is_some(), "it was the truth of its moment");
    assert!(seen.is_silent(), "{:?}", seen.set_cookies());
}

#[test]
fn without_propagate_no_pin_reaches_an_endpoint() {
    let site = Site::new();
    let token = site.token("B");
    for headers in [
        vec![],
        vec![("affinity-pin", token.as_str())],
        vec![("affinity-pin", "")],
    ] {
        let seen = get(&site, &headers);
        assert_eq!(handed_on(&seen), None);
        let forwarded = seen.forwarded.as_ref().unwrap().extensions();
        assert!(forwarded.get::<Propagation>().is_none());
    }
}

#[test]
fn a_request_without_a_session_hands_no_pin_on() {
    let site = Site::with(|builder| {
        let levels = [Level::None, Level::Follow, Level::Connection];
        let scopes = levels.into_iter().enumerate().map(|(nth, level)| {
            let scope = Scope::new(format!("/{nth}/*").parse().unwrap()).level(level);
            scope.propagate(true)
        });
        let all = Scope::new(PathPattern::all()).propagate(true);
        scopes
            .chain([all])
            .fold(builder, |builder, scope| builder.scope(scope))
    });
    let token = site.token("B");
    let cookie = format!("{COOKIE_NAME}={token}");
    for path in ["/0/x", "/1/x", "/2/x"] {
        let seen = through(&site, ask("GET", path, &[("cookie", &cookie)]));
        assert_eq!(handed_on(&seen), None, "{path}");
    }
    let preflight = [
        ("access-control-request-method", "POST"),
        ("affinity-pin", "forged"),
    ];
    let seen = through(&site, ask("OPTIONS", "/", &preflight));
    assert!(seen.said().starts_with("assigned/preflight@"));
    assert_eq!(handed_on(&seen), None);
}

#[test]
fn the_trace_and_the_baggage_go_on_with_the_session() {
    let site = site();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let seen = get(
        &site,
        &[
            ("traceparent", parent),
            ("tracestate", "a=1,b=2"),
            ("baggage", "user=7;p=1,plan=gold"),
        ],
    );
    let headers = outgoing(&seen);
    assert_eq!(headers["traceparent"], parent);
    assert_eq!(headers["tracestate"], "a=1,b=2");
    assert_eq!(headers["baggage"], "user=7;p=1,plan=gold");
}

#[test]
fn a_scope_that_binds_to_endpoints_cannot_propagate() {
    let scope = Scope::new("/cart/*".parse().unwrap())
        .level(Level::Endpoint)
        .propagate(true);
    let error = AffinityLayer::builder()
        .keyring(Keyring::parse(K1).unwrap())
        .service("checkout")
        .rollout(rollout(10, &[("A", 1)]))
        .scope(scope)
        .build()
        .unwrap_err();
    assert!(matches!(error, BuildError::Propagate { .. }), "{error:?}");
    assert!(error.to_string().contains("/cart/*"), "{error}");
}

/// SEC-34: neither the context nor a request that holds it shows a pin when it is printed.
#[test]
fn sec34_a_printed_context_shows_no_pin() {
    let site = site();
    let seen = get(&site, &[("baggage", "user=secret")]);
    let token = handed_on(&seen).unwrap();
    let request = seen.forwarded.as_ref().unwrap();
    let context = request.extensions().get::<Propagation>().unwrap();
    let printed = format!("{context:?} {:?}", outgoing(&seen));
    let pin = printed.contains(&token) || printed.contains(token.split('.').next().unwrap());
    assert!(!pin, "{printed}");
    assert!(!format!("{context:?}").contains("secret"));
}
