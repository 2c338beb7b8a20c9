//! A pin of the service in front is a key here, and never a pin.

use std::collections::HashMap;
use std::net::SocketAddr;

use http::Request;
use tower_affinity::core::{
    AbortRequest, Clock, GroupId, Lifetimes, Revision, RowCodec, SessionId, SessionPin, Timestamp,
};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{
    AffinityBuilder, AffinityLayer, BuildError, Callers, CallersError, Keyring, PeerAddr,
    Propagation,
};
use tower_affinity_testing::store::PlainStore;
use tower_affinity_testing::{HandClock, START, name, rollout};

use crate::support::{Body, COOKIE_NAME, K1, K2, Seen, Site, TA, TI, ask, codec};
use crate::weights::weigh;

const CALLER: &str = "10.1.2.3:4711";

fn callers() -> Callers {
    let callers = Callers::from_networks(["10.0.0.0/8", "::1"]).unwrap();
    callers.caller("web", Keyring::parse(K2).unwrap()).unwrap()
}

/// A service that `web` calls, with equal weights.
fn site(change: impl FnOnce(AffinityBuilder) -> AffinityBuilder) -> Site {
    let clock = HandClock::at(Timestamp::from_secs(START));
    Site::of(clock, rollout(10, &[("A", 50), ("B", 50)]), K1, |builder| {
        change(builder.callers(callers()))
    })
}

fn stored() -> Site {
    let store = PlainStore::new(RowCodec::new("checkout".parse().unwrap()));
    site(|builder| builder.store(store))
}

/// The pin of a session of `service`, which has nothing to say about groups here.
fn pin_of(site: &Site, session: u128, service: &str, keys: &str) -> String {
    let pin = theirs(site, session);
    codec(service, keys).seal(&pin).token
}

fn theirs(site: &Site, session: u128) -> SessionPin {
    SessionPin::new(
        SessionId::from_random(session),
        GroupId::new(name("their-commit"), 1),
        Revision(77),
        site.clock.now(),
        Lifetimes::default(),
    )
}

fn request(peer: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = ask("GET", "/", headers);
    let peer: SocketAddr = peer.parse().unwrap();
    request.extensions_mut().insert(PeerAddr(peer));
    request
}

/// A call for a session of `web`, by who is trusted.
fn call(site: &Site, session: u128) -> Seen {
    let token = pin_of(site, session, "web", K2);
    site.send(request(CALLER, &[("affinity-pin", &token)]))
}

fn group(seen: &Seen) -> String {
    assert_eq!(seen.status(), 200);
    seen.affinity().group().to_owned()
}

#[test]
fn a_session_of_the_caller_is_drawn_by_its_id_and_meets_one_commit() {
    let site = site(|builder| builder);
    let mut groups = HashMap::new();
    for session in 0..100 {
        let seen = call(&site, session);
        assert!(
            seen.said().starts_with("assigned/keyed@"),
            "{}",
            seen.said()
        );
        let first = group(&seen);
        for _ in 0..3 {
            assert_eq!(group(&call(&site, session)), first, "session {session}");
        }
        *groups.entry(first).or_insert(0) += 1;
    }
    assert!(groups["A"] > 25 && groups["B"] > 25, "{groups:?}");
}

/// A pin that nobody keeps would look as if something drops it on the way.
#[test]
fn a_caller_gets_no_pin_of_this_service_unless_it_asks() {
    for site in [site(|builder| builder), stored()] {
        let theirs = pin_of(&site, 1, "web", K2);
        for _ in 0..2 {
            let browsers = [
                ("affinity-pin", theirs.as_str()),
                ("sec-fetch-site", "cross-site"),
            ];
            let seen = site.send(request(CALLER, &browsers));
            assert!(seen.is_silent(), "{:?}", seen.response.headers());
            assert!(seen.affinity().session().is_some(), "{}", seen.said());
        }
        let asks = [("affinity-pin", theirs.as_str()), ("affinity-pin", "")];
        let seen = site.send(request(CALLER, &asks));
        let own = seen
            .header("affinity-pin")
            .expect("a pin that was asked for");
        let both = [("affinity-pin", theirs.as_str()), ("affinity-pin", own)];
        let next = site.send(request(CALLER, &both));
        assert_eq!(next.said(), format!("pinned/ok@{}", group(&seen)));
    }
}

#[test]
fn the_id_is_the_key_whatever_else_their_pin_says() {
    let site = site(|builder| builder);
    let first = group(&call(&site, 7));
    let moved = theirs(&site, 7).moved(
        GroupId::new(name("another"), 3),
        tower_affinity::core::MoveCause::Aborted,
        Revision(99),
        site.clock.now(),
        Lifetimes::default(),
    );
    let token = codec("web", K2).seal(&moved).token;
    let seen = site.send(request(CALLER, &[("affinity-pin", &token)]));
    assert_eq!(seen.said(), format!("assigned/keyed@{first}"));
    assert_eq!(seen.affinity().moved_from(), None);
}

#[test]
fn a_stored_session_keeps_its_commit_though_the_caller_returns_no_pin() {
    let site = stored();
    let before: Vec<String> = (0..40).map(|nth| group(&call(&site, nth))).collect();
    weigh(&site, &[("A", 0), ("B", 100)]);
    let weighed: Vec<String> = (0..40).map(|nth| group(&call(&site, nth))).collect();
    assert_eq!(before, weighed, "a changed weight moved a session");
    site.change(|rollout, change| rollout.promote(&name("B"), change));
    let promoted: Vec<Seen> = (0..40).map(|nth| call(&site, nth)).collect();
    for (seen, before) in promoted.iter().zip(&before) {
        let cause = if before == "A" { "draining" } else { "ok" };
        assert_eq!(seen.said(), format!("pinned/{cause}@{before}"));
    }
    let fresh: Vec<String> = (100..140).map(|nth| group(&call(&site, nth))).collect();
    assert!(fresh.iter().all(|group| group == "B"), "{fresh:?}");
}

#[test]
fn without_a_store_a_promote_moves_those_that_the_new_weights_draw_elsewhere() {
    let site = site(|builder| builder);
    let before: Vec<String> = (0..40).map(|nth| group(&call(&site, nth))).collect();
    assert!(before.iter().any(|group| group == "A"));
    site.change(|rollout, change| rollout.promote(&name("B"), change));
    for nth in 0..40 {
        assert_eq!(group(&call(&site, nth)), "B");
    }
}

#[test]
fn a_stored_session_is_refreshed_by_use_and_ends_by_disuse() {
    let site = stored();
    let first = call(&site, 1);
    let session = first.affinity().session();
    site.change(|rollout, change| rollout.promote(&name("B"), change));
    for _ in 0..12 {
        site.advance(TI / 2);
        let seen = call(&site, 1);
        assert_eq!(
            seen.affinity().session(),
            session,
            "used twice in its idle time"
        );
        assert_eq!(group(&seen), group(&first));
    }
    site.advance(TI);
    let after = call(&site, 1);
    assert_ne!(
        after.affinity().session(),
        session,
        "it was not used for all of it"
    );
    assert_eq!(after.said(), "assigned/keyed@B");
}

#[test]
fn a_stored_session_is_never_older_than_sessions_here_may_be() {
    let site = stored();
    let session = call(&site, 1).affinity().session();
    for step in 1..=TA / (TI / 2) {
        site.advance(TI / 2);
        let now = call(&site, 1).affinity().session();
        assert_eq!(now == session, step < TA / (TI / 2), "step {step}");
    }
}

#[test]
fn an_abort_moves_a_stored_session_once() {
    let site = stored();
    let sessions: Vec<u128> = (0..40)
        .filter(|nth| group(&call(&site, *nth)) == "B")
        .collect();
    assert!(!sessions.is_empty());
    site.abort_with("B", &AbortRequest::default());
    for session in &sessions {
        assert_eq!(call(&site, *session).said(), "moved/aborted@A");
        for _ in 0..3 {
            assert_eq!(call(&site, *session).said(), "pinned/ok@A");
        }
    }
}

#[test]
fn a_pin_of_this_service_counts_before_that_of_the_caller() {
    for site in [site(|builder| builder), stored()] {
        let drawn = group(&call(&site, 5));
        let other = if drawn == "A" { "B" } else { "A" };
        let (own, theirs) = (site.token(other), pin_of(&site, 5, "web", K2));
        let cookie = format!("{COOKIE_NAME}={own}");
        for headers in [
            [("affinity-pin", theirs.as_str()), ("cookie", &cookie)],
            [("affinity-pin", &theirs), ("affinity-pin", &own)],
            [("affinity-pin", &own), ("affinity-pin", &theirs)],
        ] {
            let seen = site.send(request(CALLER, &headers));
            assert_eq!(seen.said(), format!("pinned/ok@{other}"));
        }
    }
}

#[test]
fn the_key_of_a_caller_counts_before_what_anybody_can_write() {
    let user = AssignBy::Header("x-user".parse().unwrap());
    let scope = Scope::new(PathPattern::all()).assign(user);
    let site = site(|builder| builder.scope(scope));
    for session in 0..20 {
        let token = pin_of(&site, session, "web", K2);
        let groups = ["ann", "bob", "cid", "dan"].map(|user| {
            let headers = [("affinity-pin", token.as_str()), ("x-user", user)];
            group(&site.send(request(CALLER, &headers)))
        });
        assert!(groups.iter().all(|group| *group == groups[0]), "{groups:?}");
    }
}

/// Each is served as if it had not been sent, or as any token that is no pin here.
#[test]
fn a_foreign_pin_that_does_not_count_is_ignored() {
    let site = site(|builder| builder);
    let good = pin_of(&site, 1, "web", K2);
    let wrong_key = pin_of(&site, 1, "web", K1);
    let stranger = pin_of(&site, 1, "stock", K2);
    let own_audience = pin_of(&site, 1, "checkout", K2);
    let flipped = format!("{}A", &good[..good.len() - 1]);
    for (what, peer, token, cause) in [
        ("an untrusted peer", "192.0.2.1:80", &good, "unknown_key"),
        (
            "a key that is not the caller's",
            CALLER,
            &wrong_key,
            "wrong_audience",
        ),
        (
            "a service that is no caller",
            CALLER,
            &stranger,
            "unknown_key",
        ),
        (
            "our audience by the caller's key",
            CALLER,
            &own_audience,
            "unknown_key",
        ),
        ("a broken signature", CALLER, &flipped, "unknown_key"),
    ] {
        let groups: Vec<String> = (0..64)
            .map(|_| {
                let seen = site.send(request(peer, &[("affinity-pin", token)]));
                let said = seen.said();
                assert!(
                    said.starts_with(&format!("assigned/{cause}@")),
                    "{what}: {said}"
                );
                group(&seen)
            })
            .collect();
        assert!(
            groups.iter().any(|group| *group != groups[0]),
            "{what} was a key"
        );
    }
    let unknown = ask("GET", "/", &[("affinity-pin", &good)]);
    let said = site.send(unknown).said();
    assert!(
        said.starts_with("assigned/unknown_key@"),
        "a peer without an address: {said}"
    );
}

#[test]
fn a_foreign_pin_whose_time_is_over_is_no_key_and_no_bad_pin_either() {
    let site = site(|builder| builder);
    let old = pin_of(&site, 1, "web", K2);
    site.advance(TI);
    let groups: Vec<String> = (0..64)
        .map(|_| {
            let seen = site.send(request(CALLER, &[("affinity-pin", &old)]));
            assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
            group(&seen)
        })
        .collect();
    assert!(
        groups.iter().any(|group| *group != groups[0]),
        "it was a key"
    );
}

#[test]
fn how_long_sessions_of_the_caller_live_is_its_own_affair() {
    let site = site(|builder| builder);
    let long = SessionPin {
        expires: Timestamp::from_secs(START + 10 * TA),
        ..theirs(&site, 1)
    };
    let token = codec("web", K2).seal(&long).token;
    site.advance(2 * TA);
    let seen = site.send(request(CALLER, &[("affinity-pin", &token)]));
    assert!(
        seen.said().starts_with("assigned/keyed@"),
        "{}",
        seen.said()
    );
}

#[test]
fn more_pins_than_are_looked_at_are_no_key() {
    let site = site(|builder| builder);
    let tokens: Vec<String> = (0..1_000)
        .map(|nth| pin_of(&site, nth, "web", K2))
        .collect();
    let headers: Vec<_> = tokens
        .iter()
        .map(|t| ("affinity-pin", t.as_str()))
        .collect();
    let seen = site.send(request(CALLER, &headers));
    assert!(
        seen.said().starts_with("assigned/duplicates@"),
        "{}",
        seen.said()
    );
}

#[test]
fn of_several_sessions_one_is_the_key_in_whatever_order_they_come() {
    let site = site(|builder| builder);
    for session in 0..20 {
        let pair = [session, session + 1_000].map(|nth| pin_of(&site, nth, "web", K2));
        let [one, other] = [[&pair[0], &pair[1]], [&pair[1], &pair[0]]].map(|pair| {
            let headers = pair.map(|token| ("affinity-pin", token.as_str()));
            site.send(request(CALLER, &headers)).said()
        });
        assert_eq!(one, other);
        assert!(one.starts_with("assigned/keyed@"), "{one}");
    }
}

#[test]
fn at_any_depth_the_session_is_that_of_where_it_began() {
    let scope = Scope::new(PathPattern::all()).propagate(true);
    let site = site(|builder| builder.scope(scope));
    let token = pin_of(&site, 3, "web", K2);
    let own = format!("{COOKIE_NAME}={}", site.token("A"));
    for headers in [
        vec![("affinity-pin", token.as_str())],
        vec![("affinity-pin", token.as_str()), ("cookie", &own)],
    ] {
        let seen = site.send(request(CALLER, &headers));
        let request = seen.forwarded.as_ref().unwrap();
        let context = request.extensions().get::<Propagation>().unwrap();
        let mut outgoing = http::HeaderMap::new();
        context.apply(&mut outgoing);
        assert_eq!(outgoing["affinity-pin"], token);
    }
}

#[test]
fn callers_that_cannot_be_told_apart_are_refused() {
    let ring = || Keyring::parse(K2).unwrap();
    let error = Callers::from_networks(["10.0.0.1/8"]).unwrap_err();
    assert!(matches!(error, CallersError::Network(_)), "{error:?}");
    let error = callers().caller("web", ring()).unwrap_err();
    assert_eq!(error, CallersError::Twice("web".to_owned()));
    let error = callers().caller("No Name", ring()).unwrap_err();
    assert!(matches!(error, CallersError::Name { .. }), "{error:?}");
    let many = (1..16).fold(callers(), |callers, nth| {
        callers.caller(format!("s{nth}"), ring()).unwrap()
    });
    let error = many.caller("one-more", ring()).unwrap_err();
    assert_eq!(error, CallersError::TooMany);
    let itself = Callers::from_everyone().caller("checkout", ring()).unwrap();
    let error = AffinityLayer::builder()
        .keyring(ring())
        .service("checkout")
        .rollout(rollout(10, &[("A", 1)]))
        .callers(itself)
        .build()
        .unwrap_err();
    assert!(matches!(error, BuildError::CallsItself(_)), "{error:?}");
}
