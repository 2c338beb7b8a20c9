//! Services that read pins and cannot make one.

use super::ed25519::{codec_of, signing};
use super::forge::pin;
use crate::fixtures::{at, codec, ed25519, id, ids, lifetimes, public, rollout, service};
use crate::{
    Chosen, Fault, GroupRef, Keyring, MAX_ASYMMETRIC, MoveCause, Opener, PinVerifier, Revision,
    SessionPin, VerifyingKeyring, choose,
};

fn ring() -> VerifyingKeyring {
    Keyring::verifying([public(&ed25519("k1", 1))]).unwrap()
}

fn moved() -> SessionPin {
    let (group, revision) = (id("B", 1), Revision(11));
    pin().moved(group, MoveCause::Aborted, revision, at(0), lifetimes())
}

#[test]
fn a_service_with_the_public_half_reads_what_the_gateway_signed() {
    let token = signing().seal(&moved()).token;
    let known = PinVerifier::new(service("checkout"), &ring().with_id_secret(ids()).unwrap());
    let mut opened = known.open(token.as_bytes(), at(1), lifetimes()).unwrap();
    let codes = known.codes(&rollout(&[("A", 1), ("B", 1)])).unwrap();
    codes.resolve(&mut opened.pin);
    assert_eq!(opened.pin, moved());
}

#[test]
fn without_the_id_secret_only_the_groups_stay_unknown() {
    let token = signing().seal(&moved()).token;
    let verifier = PinVerifier::new(service("checkout"), &ring());
    let mut opened = verifier.open(token.as_bytes(), at(1), lifetimes()).unwrap();
    let codes = verifier.codes(&rollout(&[("A", 1), ("B", 1)])).unwrap();
    codes.resolve(&mut opened.pin);
    let pin = opened.pin;
    assert!(matches!(pin.group, GroupRef::Unknown(_)));
    let last = pin.last_move.clone().unwrap();
    assert!(matches!(last.from, GroupRef::Unknown(_)));
    assert_eq!((last.at, last.cause), (at(0), MoveCause::Aborted.into()));
    assert_eq!(
        (pin.session, pin.started, pin.expires, pin.moves),
        (moved().session, moved().started, moved().expires, 1)
    );
}

#[test]
fn sec_06_a_pin_for_another_audience_is_refused_whoever_signed_it() {
    let other = codec_of("payment", [ed25519("k1", 1)]).seal(&pin()).token;
    let verifier = PinVerifier::new(service("checkout"), &ring());
    for _ in 0..2 {
        let opened = verifier.open(other.as_bytes(), at(1), lifetimes());
        assert_eq!(opened, Err(Fault::WrongAudience));
    }
}

fn chosen(mut opener: Opener<'_>, tokens: &[&str]) -> Chosen {
    choose(tokens, |token| {
        opener.open(token.as_bytes()).map(|(pin, _)| pin)
    })
}

#[test]
fn of_more_than_two_candidates_for_ed25519_none_counts_in_any_order() {
    let codec = signing();
    let later = pin().renewed(Revision(12), at(1), lifetimes());
    let (one, two) = (codec.seal(&pin()).token, codec.seal(&later).token);
    let forged = format!("{}.AAAA", one.rsplit_once('.').unwrap().0);
    let opener = || codec.opener(at(2), lifetimes());
    assert_eq!(MAX_ASYMMETRIC, 2);
    let both = chosen(opener(), &[&one, &two]).unwrap().unwrap();
    assert_eq!(both.revision, Revision(12), "two are looked at");
    for many in [
        [&one, &two, &forged],
        [&forged, &one, &two],
        [&two, &forged, &one],
        [&one, &one, &one],
    ] {
        let many = many.map(String::as_str);
        let chosen = chosen(opener(), &many);
        assert_eq!(chosen, Some(Err(Fault::Duplicates)), "{many:?}");
    }
    let junk = chosen(opener(), &["junk", "x.y.z", &one]).unwrap();
    assert!(junk.is_ok(), "what names no such key costs no verification");
}

#[test]
fn with_hs256_four_candidates_are_looked_at_as_before() {
    let codec = codec("checkout", &[("k1", 1)]);
    let token = codec.seal(&pin()).token;
    let four = chosen(codec.opener(at(1), lifetimes()), &[&*token; 4]);
    assert!(four.unwrap().is_ok());
}
