//! A service without a gateway: the balancer in front has drawn, this process is one group.

use super::ask::{Ask, check};
use crate::{Absence, Fault, Level};

#[test]
fn without_a_pin_this_group_serves_whatever_the_weights() {
    check([
        (
            "drawn to B, but here is A",
            Ask::new().serving("A"),
            "assigned/new A current issue",
        ),
        (
            "a fault",
            Ask::fault(Fault::ExpiredIdle).serving("A"),
            "assigned/expired_idle A current issue",
        ),
        (
            "a key",
            Ask::new().key(Ask::new().fresh.into()).serving("A"),
            "assigned/keyed A current issue",
        ),
        (
            "draining: no session",
            Ask::new().serving("C"),
            "assigned/new C none -",
        ),
        (
            "staged: no session",
            Ask::new().serving("D"),
            "assigned/new D none -",
        ),
        (
            "aborted: no session",
            Ask::new().serving("E"),
            "assigned/new E none -",
        ),
        (
            "not registered: no session",
            Ask::new().serving("Z"),
            "assigned/new Z none -",
        ),
        (
            "withheld",
            Ask::without(Absence::Withheld).serving("A"),
            "assigned/withheld A none -",
        ),
        (
            "preflight",
            Ask::without(Absence::Preflight).serving("B"),
            "assigned/preflight B none -",
        ),
        (
            "no scope",
            Ask::new().no_scope().serving("B"),
            "bypassed/none B none -",
        ),
        (
            "connection",
            Ask::new().level(Level::Connection).serving("A"),
            "bypassed/connection A none -",
        ),
        (
            "follow",
            Ask::new().level(Level::Follow).serving("B"),
            "bypassed/follow B none -",
        ),
    ]);
}

#[test]
fn weight_zero_does_not_stop_the_active_group_that_serves() {
    let zero = crate::fixtures::rollout(&[("A", 1), ("B", 0)]);
    let answer = Ask::new().rollout(zero).serving("B").answer();
    assert_eq!(answer, "assigned/new B current issue");
}

#[test]
fn a_pin_to_this_group_is_obeyed_and_one_to_another_refused() {
    check([
        (
            "here",
            Ask::p("B", 9).serving("B"),
            "pinned/ok B established keep",
        ),
        (
            "draining here",
            Ask::p("C", 9).serving("C"),
            "pinned/draining C established keep",
        ),
        (
            "elsewhere",
            Ask::p("A", 9).serving("B"),
            "refused/not_served_here A established keep",
        ),
        (
            "due, elsewhere",
            Ask::p("A", 9).now(1000).serving("B"),
            "refused/not_served_here A established keep",
        ),
        (
            "aborted, moves here",
            Ask::p("E", 9).serving("A"),
            "moved/aborted A moved issue",
        ),
        (
            "aborted, moves elsewhere",
            Ask::p("E", 9).serving("E"),
            "refused/not_served_here A moved keep",
        ),
        (
            "gone, moves elsewhere",
            Ask::p("R", 9).serving("A"),
            "refused/not_served_here B moved keep",
        ),
        (
            "ended keeps its own cause",
            Ask::p("G", 9).serving("A"),
            "refused/aborted_end G established keep",
        ),
        (
            "follow elsewhere",
            Ask::p("A", 9).level(Level::Follow).serving("B"),
            "refused/not_served_here A none -",
        ),
    ]);
}
