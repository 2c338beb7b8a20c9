//! Rule 12: requests without a valid pin.

use super::ask::{Ask, check, drawn_to_a};
use crate::fixtures::{at, rollout, session};
use crate::{Absence, Fault, Revision};

const FAULTS: [(Fault, &str); 10] = [
    (Fault::Malformed, "malformed"),
    (Fault::WrongType, "wrong_type"),
    (Fault::BadSignature, "bad_signature"),
    (Fault::UnknownKey, "unknown_key"),
    (Fault::WrongAudience, "wrong_audience"),
    (Fault::FromFuture, "from_future"),
    (Fault::ExpiredIdle, "expired_idle"),
    (Fault::ExpiredMax, "expired_max"),
    (Fault::Oversize, "oversize"),
    (Fault::Duplicates, "duplicates"),
];

#[test]
fn a_new_session_is_drawn_and_pinned() {
    let to_a = Ask {
        fresh: drawn_to_a(),
        ..Ask::new()
    };
    check([
        ("to B", Ask::new(), "assigned/new B current issue"),
        ("to A", to_a, "assigned/new A current issue"),
        (
            "strict",
            Ask::new().strict(),
            "assigned/new B current issue",
        ),
        (
            "B not ready",
            Ask::new().down(&["B"], 0),
            "assigned/new A current issue",
        ),
        (
            "nothing ready",
            Ask::new().down(&["A", "B"], 0),
            "refused/no_ready none none -",
        ),
    ]);
}

#[test]
fn every_fault_is_served_like_no_pin_and_named() {
    for (fault, word) in FAULTS {
        let answer = Ask::fault(fault).answer();
        assert_eq!(answer, format!("assigned/{word} B current issue"));
    }
}

#[test]
fn a_scopes_key_is_what_is_drawn_by() {
    let key = drawn_to_a().into();
    check([
        (
            "keyed",
            Ask::new().key(key),
            "assigned/keyed A current issue",
        ),
        (
            "keyed, a fault",
            Ask::fault(Fault::ExpiredIdle).key(key),
            "assigned/expired_idle A current issue",
        ),
        (
            "keyed, withheld",
            Ask::without(Absence::Withheld).key(key),
            "assigned/withheld A none -",
        ),
        (
            "a pin wins over the key",
            Ask::p("B", 9).key(key),
            "pinned/ok B established keep",
        ),
        (
            "moved by the key",
            Ask::p("R", 9).key(key),
            "moved/gone A moved issue",
        ),
    ]);
}

#[test]
fn a_preflight_opens_no_session_and_goes_to_the_stable_group() {
    let key = Ask::new().fresh.into();
    check([
        (
            "preflight",
            Ask::without(Absence::Preflight),
            "assigned/preflight A none -",
        ),
        (
            "keyed",
            Ask::without(Absence::Preflight).key(key),
            "assigned/preflight A none -",
        ),
        (
            "stable not ready",
            Ask::without(Absence::Preflight).down(&["A"], 60),
            "assigned/preflight A none -",
        ),
    ]);
}

#[test]
fn a_withheld_cookie_opens_no_session_and_is_served_by_the_draw() {
    check([
        (
            "withheld",
            Ask::without(Absence::Withheld),
            "assigned/withheld B none -",
        ),
        (
            "B not ready",
            Ask::without(Absence::Withheld).down(&["B"], 0),
            "assigned/withheld A none -",
        ),
        (
            "nothing ready",
            Ask::without(Absence::Withheld).down(&["A", "B"], 0),
            "refused/no_ready none none -",
        ),
    ]);
}

#[test]
fn c064_a_draining_group_is_never_a_spare() {
    // C drains and is ready, A and B are active and down
    let answer = Ask::new().down(&["A", "B"], 600).answer();
    assert_eq!(answer, "refused/no_ready none none -");
}

#[test]
fn c112_a_group_of_weight_zero_is_never_a_spare() {
    let ask = Ask::new().rollout(rollout(&[("A", 0), ("B", 1)]));
    assert_eq!(
        ask.down(&["B"], 600).answer(),
        "refused/no_ready none none -"
    );
}

#[test]
fn a_new_pin_states_where_since_when_and_under_which_revision() {
    let ask = Ask::new().now(7);
    let pin = ask.decision().pin.unwrap();
    assert_eq!(pin.session, ask.fresh);
    assert_eq!(
        (pin.started, pin.issued, pin.expires),
        (at(7), at(7), at(7 + 1800))
    );
    assert_eq!(
        (pin.revision, pin.assigned, pin.moves),
        (Revision(10), Revision(10), 0)
    );
    assert!(!pin.placed && pin.last_move.is_none() && pin.unknown.is_empty());
}

#[test]
fn a_refused_first_request_has_no_session() {
    let decision = Ask::new().down(&["A", "B"], 0).decision();
    assert_eq!((decision.session(), decision.issue), (None, false));
}

#[test]
fn a_new_session_goes_where_fewer_live_for_the_weight() {
    // A has weight 90 and B 10; both draws of this id give B, those of the other one A and B
    let both = (1..1_000).map(|n| session(n * 0x9e37_79b9_7f4a_7c15));
    let places = |fresh, live: &[(&str, u64)]| {
        let ask = Ask {
            fresh,
            ..Ask::new()
        };
        ask.least_loaded(live)
            .decision()
            .group
            .unwrap()
            .name()
            .to_string()
    };
    let (mut to_b, mut of) = ([0, 0, 0], 0);
    for fresh in both {
        of += 1;
        let loads = [
            &[("A", 90), ("B", 10)][..],
            &[("A", 91), ("B", 10)],
            &[("A", 90), ("B", 11)],
        ];
        for (count, live) in to_b.iter_mut().zip(loads) {
            *count += u32::from(places(fresh, live) == "B");
        }
    }
    let share = to_b.map(|count| f64::from(count) / f64::from(of));
    assert!((0.06..0.14).contains(&share[0]), "equal loads: {share:?}");
    assert!(
        (0.15..0.23).contains(&share[1]),
        "B is below its share: {share:?}"
    );
    assert!(share[2] < 0.03, "B is above its share: {share:?}");
}

#[test]
fn load_moves_no_session_and_makes_no_spare_of_weight_zero() {
    let crowded = [("A", 1_000_000), ("B", 0), ("C", 0), ("D", 0)];
    check([
        (
            "pinned",
            Ask::p("A", 10).least_loaded(&crowded),
            "pinned/ok A current keep",
        ),
        (
            "nothing else is ready",
            Ask::new().least_loaded(&crowded).down(&["B"], 0),
            "assigned/new A current issue",
        ),
    ]);
}

#[test]
fn a_store_that_does_not_answer_is_the_cause_and_the_key_still_draws() {
    let key = drawn_to_a().into();
    check([
        (
            "keyed",
            Ask::without(Absence::StoreUnavailable).key(key),
            "assigned/store_unavailable A current issue",
        ),
        (
            "not keyed",
            Ask::without(Absence::StoreUnavailable),
            "assigned/store_unavailable B current issue",
        ),
    ]);
}
