//! `on_navigation = "latest"`: a full page load of a session whose group drains.

use super::ask::{Ask, check, pin};
use crate::{Level, OnNavigation};

#[test]
fn c115_a_page_load_moves_on_only_from_a_draining_group() {
    check([
        (
            "draining",
            Ask::p("C", 9).page_load(),
            "moved/released A moved issue",
        ),
        (
            "draining, strict",
            Ask::p("C", 9).strict().page_load(),
            "moved/released A moved issue",
        ),
        (
            "draining, to the same endpoint",
            Ask::p("C", 9).level(Level::Endpoint).page_load(),
            "moved/released A moved issue",
        ),
        (
            "active",
            Ask::p("B", 9).page_load(),
            "pinned/ok B established keep",
        ),
        (
            "staged",
            Ask::p("D", 9).page_load(),
            "pinned/ok D established keep",
        ),
        (
            "the stable group is not ready",
            Ask::p("C", 9).page_load().down(&["A"], 0),
            "pinned/draining C established keep",
        ),
        (
            "aborted, its sessions stay",
            Ask::p("F", 9).page_load(),
            "pinned/aborted_stay F established keep",
        ),
        (
            "above our revision",
            Ask::p("C", 11).page_load(),
            "pinned/behind C current keep",
        ),
        (
            "follow writes nothing",
            Ask::p("C", 9).level(Level::Follow).page_load(),
            "bypassed/follow C none -",
        ),
    ]);
}

#[test]
fn c115_what_is_no_page_load_keeps_the_old_group() {
    let mut ask = Ask::p("C", 9).page_load();
    ask.page_load = false;
    assert_eq!(ask.answer(), "pinned/draining C established keep");
    let mut keeps = Ask::p("C", 9).page_load();
    keeps.policy.as_mut().unwrap().on_navigation = OnNavigation::Keep;
    assert_eq!(keeps.answer(), "pinned/draining C established keep");
}

#[test]
fn c119_a_hundred_page_loads_move_a_session_once() {
    let mut pin = pin("C", 9);
    let mut moved = 0;
    for _ in 0..100 {
        let decision = Ask::with(pin).page_load().decision();
        moved += u32::from(decision.kind.as_str() == "moved");
        pin = decision.pin.unwrap();
    }
    assert_eq!((moved, pin.moves), (1, 1));
}
