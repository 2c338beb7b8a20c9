#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use proptest::prelude::*;

use super::{MAX_ROW, RowCodec, RowFault, RowKey, Terms};
use crate::fixtures::{at, codec as codec_of, endpoint, lifetimes, name, service, session};
use crate::{DrawKey, EndpointRef, GroupId, MoveCause, Outcomes, Revision, SessionPin, Timestamp};

const SESSION: u128 = 7;

fn codec() -> RowCodec {
    RowCodec::new(service("checkout"))
}

fn key() -> RowKey {
    RowKey::Session(session(SESSION))
}

fn id(text: &str) -> GroupId {
    GroupId::new(name(text), 1)
}

fn terms(secs: i64) -> Terms {
    Terms {
        now: at(secs),
        lifetimes: lifetimes(),
    }
}

fn pin() -> SessionPin {
    SessionPin::new(session(SESSION), id("A"), Revision(10), at(0), lifetimes())
}

fn moved() -> SessionPin {
    let pin = pin().moved(
        id("B"),
        MoveCause::Aborted,
        Revision(12),
        at(60),
        lifetimes(),
    );
    let pin = pin.at_endpoint(Some(endpoint("10.0.0.1:80"))).released();
    pin.turned_out(Outcomes::from_bits(0x4001))
}

fn decode(row: &str) -> Result<SessionPin, RowFault> {
    codec().decode(key(), row.as_bytes(), terms(61))
}

/// A row with one of its fields replaced.
fn with(field: &str, value: serde_json::Value) -> String {
    let mut row: serde_json::Value =
        serde_json::from_str(&codec().encode(key(), &moved())).unwrap();
    assert!(row.get(field).is_some(), "a row has no field {field}");
    row[field] = value;
    row.to_string()
}

#[test]
fn a_row_is_read_as_it_was_written() {
    for pin in [pin(), moved()] {
        assert_eq!(decode(&codec().encode(key(), &pin)), Ok(pin));
    }
    let user = RowKey::Named(DrawKey::from(session(99)));
    let row = codec().encode(user, &moved());
    assert_eq!(codec().decode(user, row.as_bytes(), terms(61)), Ok(moved()));
}

#[test]
fn fields_of_a_later_release_are_no_fault() {
    let row = codec().encode(key(), &pin());
    let later = row.replacen('{', "{\"later\":{\"a\":[1]},", 1);
    assert_eq!(decode(&later), Ok(pin()));
}

/// Who can write to the store must not have us sign what he likes.
#[test]
fn claims_of_ours_among_those_of_a_row_are_not_signed() {
    use serde_json::json;
    let signer = codec_of("checkout", &[("k1", 1)]);
    let row = row_with_more(json!({
        "aud": "billing", "sid": "x", "grp": "x", "sst": 0, "iat": 0, "exp": 9_999_999_999_u64,
        "rev": 1, "arv": 1, "mv": 9, "mf": "x", "mt": 1, "mc": "x", "ep": "x", "out": "x", "fx": 1, "rl": 1,
        "nbf": 9_999_999_999_u64, "crit": ["x"], "jti": "x", "later": true,
    }));
    let read = decode(&row).unwrap();
    let sealed = signer.seal(&read);
    let opened = signer.open(sealed.token.as_bytes(), at(61), lifetimes());
    let opened = opened.expect("a pin that we signed is one of ours").pin;
    assert_eq!(opened.session, session(SESSION));
    assert_eq!((opened.expires, opened.moves), (pin().expires, 0));
    assert_eq!(opened.unknown, read.unknown, "the claim of a later release");
    assert!(!opened.unknown.is_empty());
}

fn row_with_more(more: serde_json::Value) -> String {
    let row = codec().encode(key(), &pin());
    let mut row: serde_json::Value = serde_json::from_str(&row).unwrap();
    row["more"] = more;
    row.to_string()
}

#[test]
fn whatever_is_no_row_of_ours_is_absent_with_its_cause() {
    use serde_json::json;
    let long = "x".repeat(64 << 10);
    for (row, fault) in [
        (with("v", json!(2)), RowFault::Version),
        (with("aud", json!("billing")), RowFault::Service),
        (with("key", json!("s:0")), RowFault::Key),
        (with("sid", json!(session(8).to_string())), RowFault::Key),
        (with("sid", json!("\u{0}\u{1b}[31m")), RowFault::Malformed),
        (with("aud", json!(long)), RowFault::Oversize),
        (with("out", json!("failed")), RowFault::Malformed),
        (with("exp", json!("soon")), RowFault::Malformed),
        (with("exp", json!(-1)), RowFault::Malformed),
        (with("exp", json!(1.5)), RowFault::Malformed),
        (with("exp", json!(at(61).as_secs())), RowFault::Ended),
        (with("sst", json!(0)), RowFault::Ended),
        (with("iat", json!(u64::MAX)), RowFault::FromFuture),
        (with("rev", json!(u64::MAX)), RowFault::FromFuture),
        (
            with("grp", json!({"name": "a b", "generation": 1})),
            RowFault::Malformed,
        ),
        (
            with("grp", json!({"code": "AAAAAAAAAAAAAA"})),
            RowFault::Malformed,
        ),
        (with("grp", json!("A")), RowFault::Malformed),
        (with("last", json!({"from": 1})), RowFault::Malformed),
        (String::new(), RowFault::Malformed),
        ("[]".to_owned(), RowFault::Malformed),
        ("{\"v\":1}".to_owned(), RowFault::Malformed),
    ] {
        let shown: String = row.chars().take(120).collect();
        assert_eq!(decode(&row), Err(fault), "{shown}");
    }
}

#[test]
fn a_row_that_is_cut_anywhere_is_absent() {
    let row = codec().encode(key(), &moved());
    for end in 0..row.len() {
        let cut = codec().decode(key(), &row.as_bytes()[..end], terms(61));
        assert_eq!(cut, Err(RowFault::Malformed), "cut at {end}");
    }
}

#[test]
fn a_row_ends_with_its_pin_and_with_its_session() {
    let row = codec().encode(key(), &pin());
    let read = |secs: i64| codec().decode(key(), row.as_bytes(), terms(secs));
    let idle = lifetimes().idle().as_secs() as i64;
    assert_eq!(read(idle - 1), Ok(pin()));
    assert_eq!(read(idle), Err(RowFault::Ended));
    // a refresh does not lengthen the session, whatever the row says
    let age = lifetimes().max_age().as_secs() as i64;
    let mut refreshed = pin();
    refreshed.expires = at(age + 1_000);
    refreshed.issued = at(age - 1);
    let row = codec().encode(key(), &refreshed);
    let read = |secs: i64| codec().decode(key(), row.as_bytes(), terms(secs));
    assert_eq!(read(age - 1), Ok(refreshed));
    assert_eq!(read(age), Err(RowFault::Ended));
}

#[test]
fn the_longest_names_fit_into_a_row() {
    let group = id(&"g".repeat(128));
    let pin = pin()
        .moved(
            group,
            MoveCause::GroupDown,
            Revision(u64::MAX >> 32),
            at(60),
            lifetimes(),
        )
        .at_endpoint(Some(endpoint(&"e".repeat(1024))));
    assert!(matches!(pin.endpoint, Some(EndpointRef::Known(_))));
    assert!(codec().encode(key(), &pin).len() < MAX_ROW / 2);
}

proptest! {
    /// Stores that compare texts order pins as we do.
    #[test]
    fn rank_orders_as_precedence(
        a in (0..u64::MAX, 0..u32::MAX, 0..1_u64 << 50),
        b in (0..u64::MAX, 0..u32::MAX, 0..1_u64 << 50),
        same in (any::<bool>(), any::<bool>()),
    ) {
        let with = |(revision, moves, issued): (u64, u32, u64)| {
            let mut pin = pin();
            let issued = Timestamp::from_secs(issued);
            (pin.revision, pin.moves, pin.issued) = (Revision(revision), moves, issued);
            pin
        };
        let b = (if same.0 { a.0 } else { b.0 }, if same.1 { a.1 } else { b.1 }, b.2);
        let (a, b) = (with(a), with(b));
        let by_text = RowCodec::rank(&a).cmp(&RowCodec::rank(&b));
        let by_value = a.precedence().cmp(&b.precedence());
        prop_assert_eq!(by_text, by_value);
    }

    /// Whatever a store returns, reading it neither panics nor makes up a row.
    #[test]
    fn any_bytes_are_a_row_or_absent(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(codec().decode(key(), &bytes, terms(61)).is_err());
    }

    /// A flipped byte is absent or still a row of this very key that has not ended.
    #[test]
    fn a_flipped_byte_makes_no_foreign_row(place in 0_usize..300, flip in 1_u8..) {
        let mut row = codec().encode(key(), &moved()).into_bytes();
        let place = place % row.len();
        row[place] ^= flip;
        if let Ok(read) = codec().decode(key(), &row, terms(61)) {
            prop_assert_eq!(read.session, session(SESSION));
            prop_assert!(super::is_current(&read, terms(61)).is_ok());
        }
    }
}
