//! Hop marks: what a peer has decided, and nothing that a client could make.

use std::time::Duration;

use crate::fixtures::{at, id, lifetimes, session};
use crate::{
    Cause, Cohort, Decision, Fault, GroupRef, HOP_LIFE, Keyring, Kind, LastMove, MAX_HOP,
    MoveCause, Outcomes, PinCodec, Revision, SessionPin,
};

const KEY: &str = "k1:5TTK48nkSfEDI7Og9alBBsqR4RW_cVPE0LN2jPHYJr8";
const OTHER: &str = "k2:0Ky7-oEHjbrJa2aUeMlGyIHfr119_BBx3lFXdhdU_3w";

fn codec(service: &str, keys: &str) -> PinCodec {
    PinCodec::new(service.parse().unwrap(), &Keyring::parse(keys).unwrap())
}

fn moved() -> Decision {
    let pin = SessionPin::new(session(7), id("A", 3), Revision(9), at(0), lifetimes());
    let pin = SessionPin {
        moves: 1,
        placed: true,
        outcomes: Outcomes::FAILED,
        last_move: Some(LastMove {
            from: GroupRef::Known(id("B", 1)),
            at: at(-5),
            cause: MoveCause::Aborted.into(),
        }),
        ..pin
    };
    Decision {
        kind: Kind::Moved,
        cause: Cause::Aborted,
        group: Some(id("A", 3)),
        pin: Some(pin),
        issue: true,
        cohort: Cohort::Moved,
        endpoint_key: None,
    }
}

fn without_session(kind: Kind, cause: Cause) -> Decision {
    Decision {
        kind,
        cause,
        pin: None,
        issue: false,
        cohort: Cohort::None,
        ..moved()
    }
}

#[test]
fn a_mark_says_all_that_was_decided_and_writes_no_pin() {
    let codec = codec("checkout", KEY);
    let decision = moved();
    let mark = codec.seal_hop(&decision, at(0)).unwrap();
    let opened = codec.open_hop(mark.as_bytes(), at(1)).unwrap();
    assert!(!opened.issue, "the peer writes the pin");
    let (sent, got) = (decision.pin.unwrap(), opened.pin.clone().unwrap());
    let last = got.last_move.clone().unwrap();
    assert_eq!((last.at, &last.cause), (at(-5), &MoveCause::Aborted.into()));
    assert!(
        matches!(last.from, GroupRef::Unknown(_)),
        "it is looked up in the rollout here"
    );
    let as_sent = SessionPin {
        last_move: sent.last_move.clone(),
        ..got
    };
    assert_eq!(as_sent, sent);
    assert_eq!(
        (opened.kind, opened.cause, opened.cohort, opened.group),
        (Kind::Moved, Cause::Aborted, Cohort::Moved, Some(id("A", 3)))
    );
    let bypassed = without_session(Kind::Bypassed, Cause::Follow);
    let mark = codec.seal_hop(&bypassed, at(0)).unwrap();
    assert_eq!(codec.open_hop(mark.as_bytes(), at(0)), Ok(bypassed));
}

#[test]
fn a_refusal_is_taken_to_nobody() {
    let codec = codec("checkout", KEY);
    let refused = without_session(Kind::Refused, Cause::NoReady);
    assert_eq!(codec.seal_hop(&refused, at(0)), None);
}

#[test]
fn a_mark_is_good_for_a_minute_by_clocks_that_differ_by_five() {
    let codec = codec("checkout", KEY);
    let mark = codec.seal_hop(&moved(), at(0)).unwrap();
    let open = |secs: i64| codec.open_hop(mark.as_bytes(), at(secs)).map(|_| ());
    assert_eq!(HOP_LIFE, Duration::from_secs(60));
    assert_eq!(open(359), Ok(()));
    assert_eq!(open(360), Err(Fault::ExpiredMax));
    assert_eq!(open(-300), Ok(()));
    assert_eq!(open(-301), Err(Fault::FromFuture));
}

#[test]
fn only_a_mark_of_this_service_and_ring_is_one() {
    let codec_of = codec;
    let codec = codec("checkout", KEY);
    let decision = moved();
    let mark = codec.seal_hop(&decision, at(0)).unwrap();
    let open = |token: &str| codec.open_hop(token.as_bytes(), at(0)).map(|_| ());
    let foreign = codec_of("billing", KEY).seal_hop(&decision, at(0)).unwrap();
    assert_eq!(open(&foreign), Err(Fault::WrongAudience));
    let other = codec_of("checkout", OTHER)
        .seal_hop(&decision, at(0))
        .unwrap();
    assert_eq!(open(&other), Err(Fault::UnknownKey));
    let pin = decision.pin.unwrap();
    assert_eq!(open(&codec.seal(&pin).token), Err(Fault::WrongType));
    let hour = Duration::from_secs(3600);
    let chosen = codec
        .seal_override(&id("A", 3), hour, false, at(0))
        .unwrap();
    assert_eq!(open(&chosen), Err(Fault::WrongType));
    // the header of a mark around what a pin's key has signed
    let (header, _) = mark.split_once('.').unwrap();
    let sealed = codec.seal(&pin).token;
    let (_, rest) = sealed.split_once('.').unwrap();
    assert_eq!(open(&format!("{header}.{rest}")), Err(Fault::BadSignature));
    assert_eq!(open(""), Err(Fault::Malformed));
    assert_eq!(open("a.b.c"), Err(Fault::Malformed));
    assert_eq!(open(&"x".repeat(MAX_HOP + 1)), Err(Fault::Oversize));
    // every single changed byte is noticed
    for at_byte in 0..mark.len() {
        let mut bytes = mark.clone().into_bytes();
        bytes[at_byte] ^= 1;
        let opened = codec.open_hop(&bytes, at(0));
        assert!(opened.is_err(), "byte {at_byte} may be anything");
    }
}

#[test]
fn a_mark_opens_neither_as_a_pin_nor_as_an_override() {
    let codec = codec("checkout", KEY);
    let mark = codec.seal_hop(&moved(), at(0)).unwrap();
    let pin = codec.open(mark.as_bytes(), at(0), lifetimes());
    assert!(pin.is_err(), "a mark is a pin");
    assert!(codec.open_override(mark.as_bytes(), at(0)).is_err());
}
