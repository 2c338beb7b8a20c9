//! From when to when a token is valid.

use std::time::Duration;

use super::forge::{claims, forged, header, ours, pin, token, with};
use crate::fixtures::{TA, TI, at, lifetimes};
use crate::{Fault, Lifetimes, Revision, SessionPin, Timestamp};
use serde_json::json;

fn open_at(token: &str, now: Timestamp) -> Result<SessionPin, Fault> {
    ours()
        .open(token.as_bytes(), now, lifetimes())
        .map(|opened| opened.pin)
}

fn seal(pin: &SessionPin) -> String {
    ours().seal(pin).token
}

fn one_milli_before(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.as_millis() - 1)
}

#[test]
fn sec_08_a_pin_is_valid_until_its_expiry_and_not_at_it() {
    let end = at(i64::try_from(TI.as_secs()).unwrap());
    assert_eq!(pin().expires, end);
    assert!(open_at(&token(), one_milli_before(end)).is_ok());
    assert_eq!(open_at(&token(), end), Err(Fault::ExpiredIdle));
    assert_eq!(open_at(&token(), end.plus(TA)), Err(Fault::ExpiredMax));
}

#[test]
fn sec_07_no_renewal_passes_the_whole_lifetime() {
    let end = at(i64::try_from(TA.as_secs()).unwrap());
    let mut held = pin();
    for minute in 0..=(TA.as_secs() / 60) {
        let now = at(i64::try_from(minute * 60).unwrap());
        match open_at(&seal(&held), now) {
            Ok(opened) => held = opened.renewed(Revision(10), now, lifetimes()),
            Err(fault) => {
                assert_eq!((fault, now), (Fault::ExpiredMax, end));
                assert_eq!(held.started, at(0), "a renewal never moves the start");
                return;
            }
        }
    }
    panic!("a pin outlived the whole lifetime");
}

#[test]
fn a_pin_cannot_grant_itself_more_than_the_whole_lifetime() {
    let long = forged(&header(), &with("exp", json!(u64::MAX)));
    let end = at(i64::try_from(TA.as_secs()).unwrap());
    assert!(open_at(&long, one_milli_before(end)).is_ok());
    assert_eq!(open_at(&long, end), Err(Fault::ExpiredMax));
}

#[test]
fn the_whole_lifetime_is_the_one_of_now() {
    let hour = Duration::from_secs(3600);
    let lowered = Lifetimes::new(TI, hour).unwrap();
    let late = SessionPin {
        issued: at(3000),
        expires: at(4800),
        ..pin()
    };
    let open = |now| {
        ours()
            .open(seal(&late).as_bytes(), now, lowered)
            .map(|opened| opened.pin)
    };
    assert!(open(at(3599)).is_ok());
    assert_eq!(
        open(at(3600)),
        Err(Fault::ExpiredMax),
        "the pin itself says 4800"
    );
}

#[test]
fn c058_a_clock_up_to_five_minutes_ahead_is_believed() {
    for ahead in [0, 30, 299, 300] {
        let pin = SessionPin::new(
            pin().session,
            crate::fixtures::id("A", 1),
            Revision(1),
            at(ahead),
            lifetimes(),
        );
        assert!(open_at(&seal(&pin), at(0)).is_ok(), "{ahead} s ahead");
    }
    for claim in ["iat", "sst"] {
        for ahead in [301, 7200] {
            let token = forged(&header(), &with(claim, json!(at(ahead).as_secs())));
            assert_eq!(
                open_at(&token, at(0)),
                Err(Fault::FromFuture),
                "{claim} {ahead} s ahead"
            );
        }
    }
}

#[test]
fn sec_57_no_number_of_a_token_overflows() {
    let extremes = [
        0,
        1,
        0x7fff_ffff,
        0x8000_0000,
        253_402_300_799,
        u64::MAX / 1000,
        u64::MAX,
    ];
    for claim in ["sst", "iat", "exp", "rev", "arv"] {
        for value in extremes {
            let token = forged(&header(), &with(claim, json!(value)));
            for now in [
                Timestamp::default(),
                at(0),
                Timestamp::from_millis(u64::MAX),
            ] {
                if let Ok(pin) = open_at(&token, now) {
                    let renewed = pin.renewed(Revision(u64::MAX), now, lifetimes());
                    let again = renewed.streaming(lifetimes());
                    assert!(again.expires >= pin.expires, "{claim} {value} at {now}");
                }
            }
        }
    }
    let token = forged(&header(), &with("mv", json!(u32::MAX)));
    let pin = open_at(&token, at(0)).unwrap();
    let to = crate::fixtures::id("B", 1);
    let moved = pin.moved(to, crate::MoveCause::Gone, Revision(1), at(0), lifetimes());
    assert_eq!(moved.moves, u32::MAX);
    let too_many = forged(&header(), &with("mv", json!(u64::from(u32::MAX) + 1)));
    assert_eq!(open_at(&too_many, at(0)), Err(Fault::Malformed));
}

#[test]
fn a_token_carries_whole_seconds() {
    let now = Timestamp::from_millis(at(0).as_millis() + 999);
    let pin = SessionPin::new(
        pin().session,
        crate::fixtures::id("A", 1),
        Revision(1),
        now,
        lifetimes(),
    );
    let opened = open_at(&seal(&pin), now).unwrap();
    assert_eq!(
        (opened.started, opened.issued, opened.expires),
        (at(0), at(0), at(1800))
    );
    assert_eq!(claims()["iat"], json!(at(0).as_secs()));
}

#[test]
fn an_older_idle_lifetime_is_kept_by_pins_that_have_it() {
    let short = Lifetimes::new(Duration::from_secs(60), TA).unwrap();
    let opened = ours().open(token().as_bytes(), at(1799), short);
    assert!(opened.is_ok(), "what was promised is kept");
}

#[test]
fn a_revision_that_nobody_can_have_reached_is_from_the_future() {
    let last = at(0).as_secs() + (1 << 32);
    let reached = forged(&header(), &with("rev", json!(last)));
    assert!(open_at(&reached, at(0)).is_ok());
    for beyond in [last + 1, u64::MAX] {
        let pin = forged(&header(), &with("rev", json!(beyond)));
        assert_eq!(open_at(&pin, at(0)), Err(Fault::FromFuture), "{beyond}");
    }
}
