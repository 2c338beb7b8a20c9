//! §5 and §6: of several pins the greatest counts, and a header before cookies.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::fixtures::{at, id, lifetimes, session};
use crate::{Revision, Timestamp};

fn pin(revision: u64, moves: u32, issued: i64) -> SessionPin {
    let pin = SessionPin::new(
        session(1),
        id("B", 1),
        Revision(revision),
        at(issued),
        lifetimes(),
    );
    SessionPin { moves, ..pin }
}

fn chosen(candidates: &[Result<SessionPin, Fault>]) -> Chosen {
    choose(candidates, Clone::clone)
}

#[test]
fn the_greatest_of_several_valid_pins_counts_in_any_order() {
    let until = |expires: Timestamp| SessionPin {
        expires,
        ..pin(10, 1, 60)
    };
    let of = |bits| SessionPin {
        session: session(bits),
        ..pin(10, 1, 60)
    };
    for (lesser, greater, by) in [
        (pin(9, 5, 99), pin(10, 0, 0), "the revision"),
        (pin(10, 0, 99), pin(10, 1, 0), "the moves"),
        (pin(10, 1, 59), pin(10, 1, 60), "the issue"),
        (until(at(100)), until(at(101)), "the expiry"),
        (of(1), of(2), "the session"),
    ] {
        let expected = Some(Ok(Box::new(greater.clone())));
        let (lesser, greater) = (Ok(lesser), Ok(greater));
        assert_eq!(chosen(&[lesser.clone(), greater.clone()]), expected, "{by}");
        assert_eq!(chosen(&[greater, lesser]), expected, "{by}, turned round");
    }
}

#[test]
fn a_valid_pin_counts_whatever_else_is_sent() {
    let candidates = [
        Err(Fault::Malformed),
        Ok(pin(3, 0, 0)),
        Err(Fault::Oversize),
    ];
    assert_eq!(chosen(&candidates), Some(Ok(Box::new(pin(3, 0, 0)))));
}

#[test]
fn without_a_valid_pin_the_first_fault_is_told() {
    assert_eq!(chosen(&[]), None);
    let candidates = [Err(Fault::ExpiredIdle), Err(Fault::BadSignature)];
    assert_eq!(chosen(&candidates), Some(Err(Fault::ExpiredIdle)));
}

#[test]
fn a_fifth_candidate_makes_all_of_them_none_and_is_not_opened() {
    let mut opened = 0;
    let choice = choose(0..5, |_| {
        opened += 1;
        Ok(pin(10, 0, 0))
    });
    assert_eq!((choice, opened), (Some(Err(Fault::Duplicates)), 4));
    assert!(matches!(choose(0..4, |_| Ok(pin(10, 0, 0))), Some(Ok(_))));
}

#[test]
fn a_header_counts_before_cookies_and_is_answered_in_a_header() {
    let valid = |revision| Some(Ok(Box::new(pin(revision, 0, 0))));
    let wrong = |fault| Some(Err(fault));
    let (by_header, by_cookie) = (Carrier::Header, Carrier::Cookie);
    let nothing = |absence| Shown::Nothing(absence);
    let fault = |fault| nothing(Absence::Fault(fault));
    let shown = |revision| Shown::Pin(Box::new(pin(revision, 0, 0)));
    let (expired, forged) = (Fault::ExpiredIdle, Fault::BadSignature);
    for (header, cookie, absent, expected) in [
        (None, valid(7), Absence::New, (shown(7), by_cookie)),
        (
            Some(valid(6)),
            valid(7),
            Absence::New,
            (shown(6), by_header),
        ),
        (
            Some(wrong(expired)),
            valid(7),
            Absence::New,
            (shown(7), by_cookie),
        ),
        (Some(None), valid(7), Absence::New, (shown(7), by_cookie)),
        (
            Some(None),
            None,
            Absence::New,
            (nothing(Absence::New), by_header),
        ),
        (None, None, Absence::New, (nothing(Absence::New), by_cookie)),
        (
            None,
            wrong(forged),
            Absence::New,
            (fault(forged), by_cookie),
        ),
        (
            Some(wrong(expired)),
            wrong(forged),
            Absence::New,
            (fault(expired), by_header),
        ),
        (
            Some(None),
            wrong(forged),
            Absence::New,
            (fault(forged), by_header),
        ),
        (
            None,
            wrong(forged),
            Absence::Preflight,
            (nothing(Absence::Preflight), by_cookie),
        ),
        (
            None,
            None,
            Absence::Withheld,
            (nothing(Absence::Withheld), by_cookie),
        ),
        (
            None,
            wrong(forged),
            Absence::Withheld,
            (fault(forged), by_cookie),
        ),
        (
            Some(None),
            None,
            Absence::Withheld,
            (nothing(Absence::New), by_header),
        ),
    ] {
        let told = format!("header {header:?}, cookie {cookie:?}, {absent:?}");
        assert_eq!(present(header, || cookie, || absent), expected, "{told}");
    }
}

#[test]
fn cookies_are_not_opened_for_a_request_whose_header_holds_the_pin() {
    let header = Some(Some(Ok(Box::new(pin(6, 0, 0)))));
    let (_, carrier) = present(header, || panic!("looked at"), || panic!("asked"));
    assert_eq!(carrier, Carrier::Header);
}
