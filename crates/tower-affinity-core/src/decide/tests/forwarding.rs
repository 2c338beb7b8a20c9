//! A process that is one group and takes what belongs to others to them.

use super::ask::{Ask, check};
use crate::{Absence, Fault, Level};

#[test]
fn new_sessions_stay_while_the_group_of_the_process_is_active_and_are_drawn_else() {
    check([
        (
            "drawn to B, but here is A",
            Ask::new().forwarding("A"),
            "assigned/new A current issue",
        ),
        (
            "a fault",
            Ask::fault(Fault::ExpiredIdle).forwarding("A"),
            "assigned/expired_idle A current issue",
        ),
        (
            "draining here",
            Ask::new().forwarding("C"),
            "assigned/new B current issue",
        ),
        (
            "staged here",
            Ask::new().forwarding("D"),
            "assigned/new B current issue",
        ),
        (
            "aborted here",
            Ask::new().forwarding("E"),
            "assigned/new B current issue",
        ),
        (
            "not registered",
            Ask::new().forwarding("Z"),
            "assigned/new B current issue",
        ),
        (
            "aborted here, a key",
            Ask::new().key(Ask::new().fresh.into()).forwarding("E"),
            "assigned/keyed B current issue",
        ),
        (
            "aborted here, and nobody is ready",
            Ask::new().down(&["A", "B"], 1).forwarding("E"),
            "refused/no_ready none none -",
        ),
        (
            "withheld, draining here",
            Ask::without(Absence::Withheld).forwarding("C"),
            "assigned/withheld B none -",
        ),
    ]);
}

#[test]
fn what_has_no_session_stays_while_the_group_of_the_process_is_active_and_goes_to_the_stable_one() {
    check([
        (
            "preflight here",
            Ask::without(Absence::Preflight).forwarding("B"),
            "assigned/preflight B none -",
        ),
        (
            "preflight, aborted here",
            Ask::without(Absence::Preflight).forwarding("E"),
            "assigned/preflight A none -",
        ),
        (
            "no scope here",
            Ask::new().no_scope().forwarding("B"),
            "bypassed/none B none -",
        ),
        (
            "no scope, draining here",
            Ask::new().no_scope().forwarding("C"),
            "bypassed/none A none -",
        ),
        (
            "connection here",
            Ask::new().level(Level::Connection).forwarding("A"),
            "bypassed/connection A none -",
        ),
        (
            "connection, aborted here",
            Ask::new().level(Level::Connection).forwarding("E"),
            "bypassed/connection B none -",
        ),
        (
            "follow without a pin, aborted here",
            Ask::new().level(Level::Follow).forwarding("E"),
            "bypassed/follow A none -",
        ),
    ]);
}

#[test]
fn a_pin_is_obeyed_wherever_its_group_is() {
    check([
        (
            "here",
            Ask::p("B", 9).forwarding("B"),
            "pinned/ok B established keep",
        ),
        (
            "elsewhere",
            Ask::p("A", 9).forwarding("B"),
            "pinned/ok A established keep",
        ),
        (
            "due, elsewhere",
            Ask::p("A", 9).now(1000).forwarding("B"),
            "pinned/ok A established issue",
        ),
        (
            "draining elsewhere",
            Ask::p("C", 9).forwarding("B"),
            "pinned/draining C established keep",
        ),
        (
            "aborted here, moves elsewhere",
            Ask::p("E", 9).forwarding("E"),
            "moved/aborted A moved issue",
        ),
        (
            "ended keeps its own cause",
            Ask::p("G", 9).forwarding("A"),
            "refused/aborted_end G established keep",
        ),
        (
            "follow elsewhere",
            Ask::p("A", 9).level(Level::Follow).forwarding("B"),
            "bypassed/follow A none -",
        ),
        (
            "chosen elsewhere",
            Ask::new().chosen("D", false).forwarding("B"),
            "overridden/granted D none -",
        ),
    ]);
}
