//! Rule 3 with an unsigned hint: what a request in a scope of level `follow` may ask for.

use super::ask::{Ask, check, town};
use crate::fixtures::{View, at, name};
use crate::{Hinted, Level, hinted};

#[test]
fn c116_a_hint_reaches_groups_that_serve_anybody_and_no_other() {
    check([
        ("active", Ask::new().hint("B"), "bypassed/follow B none -"),
        ("draining", Ask::new().hint("C"), "bypassed/follow C none -"),
        (
            "its sessions stay",
            Ask::new().hint("F"),
            "bypassed/follow F none -",
        ),
        (
            "the stay is over",
            Ask::new().hint("F").now(600),
            "bypassed/follow A none -",
        ),
        ("staged", Ask::new().hint("D"), "bypassed/follow A none -"),
        ("aborted", Ask::new().hint("E"), "bypassed/follow A none -"),
        ("ended", Ask::new().hint("G"), "bypassed/follow A none -"),
        ("retired", Ask::new().hint("R"), "bypassed/follow A none -"),
        ("unknown", Ask::new().hint("Z"), "bypassed/follow A none -"),
        (
            "not ready",
            Ask::new().hint("B").down(&["B"], 0),
            "bypassed/follow A none -",
        ),
    ]);
}

#[test]
fn a_hint_goes_before_the_pin_and_one_that_leads_nowhere_after_it() {
    check([
        (
            "hint before pin",
            Ask::p("C", 10).hint("B"),
            "bypassed/follow B none -",
        ),
        (
            "staged: the pin",
            Ask::p("C", 10).hint("D"),
            "bypassed/follow C none -",
        ),
        (
            "unknown: the pin",
            Ask::p("C", 10).hint("Z"),
            "bypassed/follow C none -",
        ),
        (
            "gone, and so is the pin",
            Ask::p("R", 10).hint("Z"),
            "bypassed/follow A none -",
        ),
        (
            "an override goes before both",
            Ask::p("C", 10).hint("B").chosen("D", false),
            "overridden/granted D none -",
        ),
    ]);
}

#[test]
fn no_level_but_follow_reads_a_hint() {
    for (level, expected) in [
        (Level::None, "bypassed/none A none -"),
        (Level::Connection, "bypassed/connection B none -"),
        (Level::Group, "pinned/draining C current keep"),
        (Level::Endpoint, "pinned/draining C current keep"),
        (Level::Version, "pinned/draining C current keep"),
    ] {
        let answer = Ask::p("C", 10).hint("A").level(level).answer();
        assert_eq!(answer, expected, "{level:?}");
    }
}

/// Who guesses names learns of no group that is being prepared.
#[test]
fn a_staged_group_is_told_from_an_unknown_one_by_nobody() {
    let town = town();
    let of = |group: &str, view: &View| {
        let what = hinted(&town, view, &name(group), at(0));
        (what == Hinted::Gone, what == Hinted::NotReady)
    };
    let all = View::default();
    let down = View::down(&["B", "D", "Z"], at(0));
    for view in [&all, &down] {
        assert_eq!(of("D", view), of("Z", view));
        assert_eq!(of("D", view), (true, false));
    }
    assert_eq!(of("B", &all), (false, false));
    assert_eq!(of("B", &down), (false, true));
}
