//! The endpoint that a pin names: opaque, and read under every key of the ring.

use serde_json::{Value, json};

use super::forge::{forged, header, open, ours, payload, pin, with};
use crate::fixtures::{at, codec, endpoint, id, lifetimes};
use crate::{EndpointId, EndpointRef, Fault, GroupCode, GroupRef, PinCodec, SessionPin};

fn at_endpoint(text: &str) -> SessionPin {
    pin().at_endpoint(Some(endpoint(text)))
}

fn code(codec: &PinCodec, group: (&str, u32), text: &str) -> String {
    let pin = SessionPin {
        group: GroupRef::Known(id(group.0, group.1)),
        ..at_endpoint(text)
    };
    let claims = payload(&codec.seal(&pin).token);
    claims["ep"].as_str().unwrap().to_owned()
}

/// What a replica with these endpoints in A reads.
fn read(codec: &PinCodec, token: &str, endpoints: &[EndpointId]) -> Option<EndpointRef> {
    let mut pin = codec
        .open(token.as_bytes(), at(1), lifetimes())
        .unwrap()
        .pin;
    codec
        .endpoint_codes(&id("A", 1), endpoints)
        .resolve(&mut pin);
    pin.endpoint
}

#[test]
fn a_code_depends_on_everything_that_makes_an_endpoint() {
    let base = code(&ours(), ("A", 1), "10.0.0.1:80");
    for (row, other) in [
        (
            "key",
            code(&codec("checkout", &[("k1", 2)]), ("A", 1), "10.0.0.1:80"),
        ),
        (
            "service",
            code(&codec("payment", &[("k1", 1)]), ("A", 1), "10.0.0.1:80"),
        ),
        ("group", code(&ours(), ("B", 1), "10.0.0.1:80")),
        ("generation", code(&ours(), ("A", 2), "10.0.0.1:80")),
        ("address", code(&ours(), ("A", 1), "10.0.0.1:81")),
    ] {
        assert_ne!(base, other, "{row}");
    }
    assert_eq!(base, code(&ours(), ("A", 1), "10.0.0.1:80"));
    let group = payload(&ours().seal(&pin()).token)["grp"].clone();
    assert_ne!(
        Value::from(base),
        group,
        "endpoints have a key of their own"
    );
}

#[test]
fn the_code_of_an_endpoint_is_the_same_in_every_release() {
    // a change here would make every session of a rolling upgrade lose its endpoint
    assert_eq!(
        code(&ours(), ("9f1c2ab", 1), "10.0.0.1:80"),
        "mrnhfyee9jPzfg"
    );
}

#[test]
fn sec_01_no_address_is_readable_in_a_pin() {
    for n in 0..1000_u32 {
        let address = format!("10.20.{}.{}:18443", n / 250, n % 250);
        let token = ours().seal(&at_endpoint(&address)).token;
        let text = format!("{token} {}", payload(&token));
        let hex: String = address.bytes().map(|b| format!("{b:02x}")).collect();
        for part in [address.as_str(), "10.20.", "18443", hex.as_str()] {
            assert!(!text.contains(part), "{part} of {address} in {text}");
        }
    }
}

#[test]
fn an_endpoint_is_read_where_it_is_in_the_list_and_else_stays_a_code() {
    let (one, two) = (endpoint("one"), endpoint("two"));
    let token = ours().seal(&at_endpoint("one")).token;
    let both = [two.clone(), one.clone()];
    assert_eq!(read(&ours(), &token, &both), Some(EndpointRef::Known(one)));
    let unknown = read(&ours(), &token, &[two]);
    assert!(
        matches!(unknown, Some(EndpointRef::Unknown(_))),
        "{unknown:?}"
    );
    let mut pin = open(&token).unwrap().pin;
    pin.group = GroupRef::Known(id("A", 1));
    let again = ours().seal(&pin).token;
    assert_eq!(
        payload(&again)["ep"],
        payload(&token)["ep"],
        "a code is kept"
    );
}

#[test]
fn an_endpoint_is_read_over_a_rotation_of_keys_and_sealed_with_the_new_one() {
    let old = codec("checkout", &[("k1", 1)]);
    let both = codec("checkout", &[("k2", 2), ("k1", 1)]);
    let new = codec("checkout", &[("k2", 2)]);
    let one = [endpoint("one")];
    let known = Some(EndpointRef::Known(endpoint("one")));
    let token = old.seal(&at_endpoint("one")).token;
    assert_eq!(read(&both, &token, &one), known, "the ring has both keys");
    let mut pin = both.open(token.as_bytes(), at(1), lifetimes()).unwrap().pin;
    pin.group = GroupRef::Known(id("A", 1));
    both.endpoint_codes(&id("A", 1), &one).resolve(&mut pin);
    let renewed = both.seal(&pin).token;
    assert_eq!(read(&new, &renewed, &one), known, "the old key is gone");
    assert_eq!(
        read(&old_and_new(), &renewed, &one),
        known,
        "a replica behind"
    );
}

fn old_and_new() -> PinCodec {
    codec("checkout", &[("k1", 1), ("k2", 2)])
}

#[test]
fn a_pin_without_an_endpoint_has_no_claim_of_it() {
    let claims = payload(&ours().seal(&pin()).token);
    assert_eq!(claims.get("ep"), None);
    assert_eq!(open(&ours().seal(&pin()).token).unwrap().pin.endpoint, None);
    let unknown = SessionPin {
        group: GroupRef::Unknown(GroupCode::new([1; 10])),
        ..at_endpoint("one")
    };
    let claims = payload(&ours().seal(&unknown).token);
    assert_eq!(
        claims.get("ep"),
        None,
        "nobody can say which group it is of"
    );
}

#[test]
fn sec_17_the_claim_is_text_and_one_of_another_form_names_no_endpoint() {
    for wrong in [json!(1), json!(true), json!(["a"]), Value::Null] {
        let token = forged(&header(), &with("ep", wrong.clone()));
        assert_eq!(open(&token), Err(Fault::Malformed), "{wrong}");
    }
    for other in ["", "AAAA", "a later release", &"A".repeat(15)] {
        let token = forged(&header(), &with("ep", json!(other)));
        assert_eq!(open(&token).unwrap().pin.endpoint, None, "{other:?}");
    }
}
