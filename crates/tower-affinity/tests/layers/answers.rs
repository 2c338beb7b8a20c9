//! On which answers a pin is written, and how long it lives then.

use std::time::Duration;

use http::{Response, StatusCode};
use http_body_util::Full;
use tower_affinity::Problem;
use tower_affinity::core::Clock;
use tower_affinity::wire::{PathPattern, Scope};

use crate::support::{Site, TA, TI};

/// C021.
#[test]
fn c021_every_status_of_the_application_carries_a_first_pin() {
    let site = Site::new();
    for status in [
        200, 201, 204, 301, 302, 303, 307, 400, 401, 403, 404, 409, 421, 500, 502, 503,
    ] {
        site.app.says(status, &[]);
        let seen = site.get(&[]);
        assert_eq!(seen.status(), status);
        let token = seen
            .cookie()
            .unwrap_or_else(|| panic!("no pin on {status}"));
        let group = seen.affinity().group().to_owned();
        assert_eq!(site.get_with(&token).said(), format!("pinned/ok@{group}"));
    }
}

#[test]
fn an_error_that_we_made_carries_no_pin() {
    let site = Site::new();
    site.app
        .answers(|_| Problem::NoReadyEndpoint.response("nobody is there"));
    let seen = site.get(&[]);
    assert_eq!(
        (seen.status(), seen.header("retry-after")),
        (503, Some("1"))
    );
    assert!(seen.is_silent());
    let token = site.token("A");
    site.advance(TI / 2);
    assert!(site.get_with(&token).is_silent());
}

/// Streams: each pin is extended to the session's whole life, once.
fn extends_once(site: &Site) {
    let whole = Duration::from_secs(TA);
    let first = site.get(&[]);
    let token = first.cookie().expect("a first pin");
    let pin = site.open(&token);
    assert_eq!(
        pin.expires,
        site.clock.now().plus(whole),
        "a first pin has its whole life"
    );
    assert!(first.set_cookies()[0].ends_with("; Max-Age=14400"));
    site.advance(TI / 2);
    assert!(
        site.get_with(&token).is_silent(),
        "it has all that it can get"
    );

    let short = site.pin("A");
    let token = site.seal(&short);
    site.advance(7);
    let extended = site
        .get_with(&token)
        .cookie()
        .expect("the pin was not extended");
    let pin = site.open(&extended);
    assert_eq!(pin.expires, short.started.plus(whole));
    assert_eq!(
        (pin.session, pin.started, pin.group, pin.moves),
        (short.session, short.started, short.group, 0)
    );
    assert!(site.get_with(&extended).is_silent(), "extended twice");
    site.advance(TA - TI);
    assert!(
        site.get_with(&extended).said().starts_with("pinned/ok@"),
        "the stream's pin ended"
    );
}

#[test]
fn an_event_stream_extends_the_pin_once() {
    for kind in ["text/event-stream", "Text/Event-Stream; charset=utf-8"] {
        let site = Site::new();
        let header: &'static [_] = Box::leak(Box::new([("content-type", kind)]));
        site.app.says(200, header);
        extends_once(&site);
    }
}

/// SEC-38.
#[test]
fn a_101_carries_a_pin_and_extends_it_once() {
    let site = Site::new();
    site.app.answers(|_| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response
    });
    extends_once(&site);
}

#[test]
fn a_streaming_scope_extends_the_pin_once() {
    let scope = Scope::new(PathPattern::all()).streaming(true);
    extends_once(&Site::with(|builder| builder.scope(scope)));
}

#[test]
fn other_answers_do_not_extend_the_pin() {
    let site = Site::new();
    site.app
        .says(200, &[("content-type", "text/event-stream-like")]);
    let token = site.token("A");
    site.advance(7);
    assert!(site.get_with(&token).is_silent());
}
