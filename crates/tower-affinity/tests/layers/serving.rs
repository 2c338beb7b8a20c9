//! A service without a gateway: each process is one of the groups, a balancer in front draws.

use tower_affinity::core::Level;
use tower_affinity::wire::Scope;
use tower_affinity_testing::{HandClock, name, rollout};

use crate::support::{COOKIE_NAME, K1, Seen, Site, TI, ask};

/// Process of `group`, with all the weight at A.
fn process(clock: &HandClock, group: &str) -> Site {
    let shares = [("A", 100), ("B", 0)];
    Site::of(clock.clone(), rollout(10, &shares), K1, |builder| {
        builder.serving(name(group))
    })
}

fn is_misdirected(seen: &Seen) {
    assert_eq!(seen.status(), 421);
    assert_eq!(seen.header("affinity-misdirected"), Some("1"));
    assert_eq!(
        seen.header("content-type"),
        Some("application/problem+json")
    );
    assert!(
        seen.said().starts_with("refused/not_served_here@"),
        "{}",
        seen.said()
    );
    assert!(seen.is_silent(), "the pin is not ours to touch");
    assert!(
        seen.forwarded.is_none(),
        "the application saw another group's request"
    );
}

#[test]
fn new_sessions_are_the_processes_own_whatever_the_weights() {
    let clock = Site::new().clock;
    for group in ["A", "B"] {
        let site = process(&clock, group);
        for _ in 0..50 {
            let seen = site.get(&[]);
            assert_eq!(seen.said(), format!("assigned/new@{group}"));
            let token = seen.cookie().unwrap();
            assert_eq!(site.get_with(&token).said(), format!("pinned/ok@{group}"));
        }
    }
}

#[test]
fn another_groups_session_is_answered_421_before_the_application_runs() {
    let clock = Site::new().clock;
    let [a, b] = ["A", "B"].map(|group| process(&clock, group));
    let token = b.get(&[]).cookie().unwrap();
    a.advance(TI / 2);
    is_misdirected(&a.get_with(&token));
    is_misdirected(&a.get(&[("affinity-pin", &token)]));
    assert_eq!(b.get_with(&token).said(), "pinned/ok@B");
}

#[test]
fn a_process_whose_group_takes_no_session_serves_without_one() {
    let clock = Site::new().clock;
    let b = process(&clock, "B");
    let own = b.token("B");
    b.change(|rollout, change| rollout.drain(&name("B"), change));
    let seen = b.get(&[]);
    assert_eq!(seen.said(), "assigned/new@B");
    assert!(seen.is_silent() && seen.affinity().session().is_none());
    assert_eq!(b.get_with(&own).said(), "pinned/draining@B");
    b.abort("B");
    assert!(b.get(&[]).is_silent());
    // the session is A's from now on
    is_misdirected(&b.get_with(&own));
    let unregistered = process(&clock, "Z");
    let seen = unregistered.get(&[]);
    assert_eq!(
        (seen.status(), seen.said()),
        (200, "assigned/new@Z".to_owned())
    );
    assert!(seen.is_silent());
}

#[test]
fn an_aborted_groups_session_is_moved_by_the_process_of_its_destination() {
    let clock = Site::new().clock;
    let [a, b] = ["A", "B"].map(|group| process(&clock, group));
    let token = b.token("B");
    a.abort("B");
    let seen = a.get_with(&token);
    assert_eq!(seen.said(), "moved/aborted@A");
    assert_eq!(a.open(&seen.cookie().unwrap()).moves, 1);
}

#[test]
fn what_has_no_session_is_served_where_it_arrives() {
    let clock = Site::new().clock;
    let shares = [("A", 100), ("B", 0)];
    let b = Site::of(clock, rollout(10, &shares), K1, |builder| {
        builder
            .serving(name("B"))
            .scope(Scope::new("/free/*".parse().unwrap()).level(Level::None))
            .scope(Scope::new("/each/*".parse().unwrap()).level(Level::Connection))
            .scope(Scope::new("/static/*".parse().unwrap()).level(Level::Follow))
            .scope(Scope::new("/*".parse().unwrap()))
    });
    let at = |path: &str| b.send(ask("GET", path, &[])).said();
    assert_eq!(at("/free/x"), "bypassed/none@B");
    assert_eq!(at("/each/x"), "bypassed/connection@B");
    assert_eq!(at("/static/x"), "bypassed/follow@B");
    let preflight = b.send(ask(
        "OPTIONS",
        "/",
        &[("access-control-request-method", "PUT")],
    ));
    assert_eq!(preflight.said(), "assigned/preflight@B");
    let cookie = format!("{COOKIE_NAME}={}", b.token("A"));
    let followed = b.send(ask("GET", "/static/x", &[("cookie", &cookie)]));
    is_misdirected(&followed);
}
