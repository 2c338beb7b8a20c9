//! Rules 5 and 7: pins that are newer than our state.

use super::ask::{Ask, check};
use crate::fixtures::at;
use crate::{Newer, Outcome, Revision};

fn unproven(since: i64) -> Newer {
    Newer::Unproven {
        behind_since: at(since),
    }
}

#[test]
fn a_newer_pin_to_a_known_group_is_obeyed() {
    check([
        ("active", Ask::p("B", 11), "pinned/behind B current keep"),
        ("draining", Ask::p("C", 11), "pinned/behind C current keep"),
        ("staged", Ask::p("D", 11), "pinned/behind D current keep"),
        (
            "strict",
            Ask::p("B", 11).strict(),
            "pinned/behind B current keep",
        ),
        (
            "renewed when due",
            Ask::p("B", 11).now(450),
            "pinned/behind B current issue",
        ),
        (
            "a stale view moves nobody",
            Ask::p("B", 11).down(&["B"], 600),
            "pinned/behind B current keep",
        ),
        (
            "whatever was asked",
            Ask::p("B", 11).newer(Newer::Proved),
            "pinned/behind B current keep",
        ),
        (
            "our own revision is not newer",
            Ask::p("B", 10),
            "pinned/ok B current keep",
        ),
    ]);
}

#[test]
fn a_newer_pin_to_an_unknown_group_asks_first() {
    assert_eq!(Ask::unknown(12).outcome(), Outcome::Behind(Revision(12)));
    assert_eq!(
        Ask::unknown(12).strict().outcome(),
        Outcome::Behind(Revision(12))
    );
}

#[test]
fn c070_without_proof_it_is_refused_for_ten_seconds_and_moved_then() {
    let ask = |secs: i64| Ask::unknown(12).newer(unproven(0)).now(secs);
    check([
        ("at once", ask(0), "refused/behind unknown current keep"),
        (
            "in the tenth second",
            ask(9),
            "refused/behind unknown current keep",
        ),
        ("after ten seconds", ask(10), "moved/gone B moved issue"),
        (
            "after ten seconds, strict",
            ask(10).strict(),
            "refused/gone none current keep",
        ),
        (
            "strict, within",
            ask(9).strict(),
            "refused/behind unknown current keep",
        ),
    ]);
}

#[test]
fn with_proof_an_unknown_group_is_gone_at_once() {
    let ask = || Ask::unknown(12).newer(Newer::Proved);
    check([
        ("moved", ask(), "moved/gone B moved issue"),
        ("strict", ask().strict(), "refused/gone none current keep"),
        (
            "nothing ready",
            ask().down(&["A", "B"], 0),
            "refused/no_ready none current keep",
        ),
    ]);
}

#[test]
fn an_abort_that_we_know_wins_over_being_behind() {
    check([
        ("moved", Ask::p("E", 12), "moved/aborted A moved issue"),
        (
            "moved, unproven",
            Ask::p("E", 12).newer(unproven(0)),
            "moved/aborted A moved issue",
        ),
        (
            "ended",
            Ask::p("G", 12),
            "refused/aborted_end G current keep",
        ),
    ]);
}

#[test]
fn a_retired_id_is_known_so_nobody_waits_for_news_of_it() {
    check([
        ("moved", Ask::p("R", 12), "moved/gone B moved issue"),
        (
            "strict",
            Ask::p("R", 12).strict(),
            "refused/gone R current keep",
        ),
    ]);
}

#[test]
fn a_renewal_behind_changes_only_the_times() {
    let ask = Ask::p("B", 12).now(450);
    let presented = super::ask::pin("B", 12);
    let issued = ask.decision().pin.unwrap();
    assert_eq!(
        issued.revision,
        Revision(12),
        "the pin's revision is above ours"
    );
    assert_eq!((issued.issued, issued.expires), (at(450), at(450 + 1800)));
    let with_old_times = crate::SessionPin {
        issued: presented.issued,
        expires: presented.expires,
        ..issued
    };
    assert_eq!(with_old_times, presented);
}

#[test]
fn a_move_behind_keeps_the_greater_revision() {
    let moved = Ask::p("E", 12).decision().pin.unwrap();
    assert_eq!(moved.revision, Revision(12));
}
