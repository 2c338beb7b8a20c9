//! A rotation of keys under load: no pin is lost on the way.

use super::forge::pin;
use crate::fixtures::{at, codec, lifetimes, rollout};
use crate::{Fault, GroupRef, PinCodec};

/// The rings of one rotation from `k1` to `k2`, in order.
fn phases() -> Vec<PinCodec> {
    [
        &[("k1", 1)][..],
        &[("k1", 1), ("k2", 2)],
        &[("k2", 2), ("k1", 1)],
        &[("k2", 2)],
    ]
    .map(|keys| codec("checkout", keys))
    .into()
}

fn knows_group(reader: &PinCodec, token: &str) -> Result<bool, Fault> {
    let mut pin = reader.open(token.as_bytes(), at(1), lifetimes())?.pin;
    reader
        .codes(&rollout(&[("A", 1)]))
        .unwrap()
        .resolve(&mut pin);
    Ok(matches!(pin.group, GroupRef::Known(_)))
}

#[test]
fn c093_replicas_one_phase_apart_read_each_others_pins() {
    let phases = phases();
    // a step of the rotation reaches one replica before the other
    for pair in phases.windows(2) {
        for (here, there) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let token = there.seal(&pin()).token;
            assert_eq!(
                knows_group(here, &token),
                Ok(true),
                "{here:?} reads {there:?}"
            );
        }
    }
}

#[test]
fn c094_a_pin_is_sealed_anew_by_the_key_that_signs_now() {
    let phases = phases();
    let old = phases[0].seal(&pin()).token;
    let opened = phases[2].open(old.as_bytes(), at(1), lifetimes()).unwrap();
    assert_eq!(opened.key.as_str(), "k1");
    let mut held = opened.pin;
    phases[2]
        .codes(&rollout(&[("A", 1)]))
        .unwrap()
        .resolve(&mut held);
    let new = phases[2].seal(&held).token;
    let reopened = phases[3].open(new.as_bytes(), at(1), lifetimes()).unwrap();
    assert_eq!(reopened.key.as_str(), "k2");
    assert_eq!(
        reopened.pin.expires, held.expires,
        "the same pin, under another key"
    );
    assert_eq!(
        knows_group(&phases[3], &new),
        Ok(true),
        "its group's code is of the new key"
    );
}

#[test]
fn c094_a_key_that_is_gone_is_an_unknown_key() {
    let phases = phases();
    let token = phases[0].seal(&pin()).token;
    assert_eq!(knows_group(&phases[3], &token), Err(Fault::UnknownKey));
}

#[test]
fn sec_54_another_key_under_the_same_id_is_a_bad_signature() {
    let other = codec("checkout", &[("k1", 9)]);
    let token = other.seal(&pin()).token;
    assert_eq!(knows_group(&phases()[0], &token), Err(Fault::BadSignature));
}

#[test]
fn c096_three_generations_of_keys_are_read() {
    let newest = codec("checkout", &[("k3", 3), ("k2", 2), ("k1", 1)]);
    for (kid, seed) in [("k1", 1), ("k2", 2), ("k3", 3)] {
        let token = codec("checkout", &[(kid, seed)]).seal(&pin()).token;
        assert_eq!(knows_group(&newest, &token), Ok(true), "{kid}");
    }
}

#[test]
fn c092_replicas_with_the_same_key_accept_each_others_pins() {
    let (one, two) = (
        codec("checkout", &[("k1", 1)]),
        codec("checkout", &[("k1", 1)]),
    );
    assert_eq!(
        one.seal(&pin()),
        two.seal(&pin()),
        "and write the very same bytes"
    );
}
