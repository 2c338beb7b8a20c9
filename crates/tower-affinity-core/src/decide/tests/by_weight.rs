//! A process that is one group, takes what belongs to others to them, and draws new sessions by weight.

use super::ask::{Ask, check};
use crate::fixtures::{rollout, session};
use crate::{Absence, Fault, Level};

#[test]
fn new_sessions_are_drawn_whichever_process_they_reach() {
    check([
        (
            "drawn to B, here is A",
            Ask::new().by_weight("A"),
            "assigned/new B current issue",
        ),
        (
            "drawn to B, here is B",
            Ask::new().by_weight("B"),
            "assigned/new B current issue",
        ),
        (
            "a fault",
            Ask::fault(Fault::ExpiredIdle).by_weight("A"),
            "assigned/expired_idle B current issue",
        ),
        (
            "a key",
            Ask::new().key(Ask::new().fresh.into()).by_weight("A"),
            "assigned/keyed B current issue",
        ),
        (
            "drawn to B, which is not ready",
            Ask::new().down(&["B"], 1).by_weight("A"),
            "assigned/new A current issue",
        ),
        (
            "aborted here",
            Ask::new().by_weight("E"),
            "assigned/new B current issue",
        ),
    ]);
}

#[test]
fn what_has_no_session_stays_here_and_pins_are_obeyed() {
    check([
        (
            "preflight",
            Ask::without(Absence::Preflight).by_weight("B"),
            "assigned/preflight B none -",
        ),
        (
            "withheld",
            Ask::without(Absence::Withheld).by_weight("A"),
            "assigned/withheld A none -",
        ),
        (
            "withheld, draining here",
            Ask::without(Absence::Withheld).by_weight("C"),
            "assigned/withheld B none -",
        ),
        (
            "connection",
            Ask::new().level(Level::Connection).by_weight("A"),
            "bypassed/connection A none -",
        ),
        (
            "no scope",
            Ask::new().no_scope().by_weight("B"),
            "bypassed/none B none -",
        ),
        (
            "a pin to this group",
            Ask::p("A", 9).by_weight("A"),
            "pinned/ok A established keep",
        ),
        (
            "a pin to another group",
            Ask::p("A", 9).by_weight("B"),
            "pinned/ok A established keep",
        ),
        (
            "a pin to an aborted group",
            Ask::p("E", 9).by_weight("B"),
            "moved/aborted A moved issue",
        ),
    ]);
}

#[test]
fn new_sessions_follow_the_weights_in_every_process_and_weight_zero_gets_none() {
    const SESSIONS: u32 = 20_000;
    const STEP: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let weights = [("A", 97), ("B", 1), ("C", 0), ("D", 2)];
    for here in ["A", "B", "C"] {
        let mut ask = Ask::new().rollout(rollout(&weights)).by_weight(here);
        let mut counts = [0_u32; 4];
        for nth in 0..SESSIONS {
            ask.fresh = session(u128::from(nth + 1).wrapping_mul(STEP));
            let decision = ask.decision();
            let drawn = decision.group_label();
            let at = weights.iter().position(|(group, _)| *group == drawn);
            counts[at.unwrap()] += 1;
        }
        for ((group, weight), count) in weights.iter().zip(counts) {
            let (share, all) = (*weight as f64 / 100.0, f64::from(SESSIONS));
            let bound = 3.3 * (share * (1.0 - share) / all).sqrt();
            let off = (f64::from(count) / all - share).abs();
            assert!(
                off <= bound,
                "in a process of {here}, {group} got {count} of {SESSIONS} for weight {weight}"
            );
        }
    }
}
