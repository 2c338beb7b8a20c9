//! A codec that remembers what it has verified answers as one that does not.

use proptest::prelude::*;

use super::ed25519::{codec_of, signing};
use super::forge::pin;
use crate::fixtures::{at, ed25519, ids, key, lifetimes, public, service, session};
use crate::{Fault, Keyring, PinCodec, PinVerifier, Revision, SessionPin, Timestamp};

/// The tokens of some sessions, of two services, signed with three keys, one of which is strange.
fn tokens() -> Vec<Vec<u8>> {
    let codecs = [
        codec_of("checkout", [ed25519("k1", 1)]),
        codec_of("checkout", [ed25519("k2", 2)]),
        codec_of("checkout", [key("hs", 3), ed25519("k1", 1)]),
        codec_of("checkout", [ed25519("k1", 9)]),
        codec_of("payment", [ed25519("k1", 1)]),
    ];
    let pins = (0..3).map(|n| SessionPin {
        session: session(n),
        ..pin()
    });
    let pins: Vec<SessionPin> = pins.collect();
    let tokens = codecs
        .iter()
        .flat_map(|codec| pins.iter().map(|pin| codec.seal(pin).token.into_bytes()));
    tokens.collect()
}

fn verifier(remember: usize) -> PinVerifier {
    let keys = [ed25519("k1", 1), public(&ed25519("k2", 2)), key("hs", 3)];
    let ring = Keyring::verifying(keys).unwrap();
    let ring = ring.with_id_secret(ids()).unwrap();
    PinVerifier::new(service("checkout"), &ring).remember(remember)
}

/// One look at one of the tokens, at some second, perhaps with a byte changed.
type Look = (usize, i64, Option<(usize, u8)>);

fn looks() -> impl Strategy<Value = Vec<Look>> {
    let mutation = prop_oneof![
        3 => Just(None),
        1 => (0..400_usize, 1..=255_u8).prop_map(Some),
    ];
    // around both ends of a pin's life: it is issued at 0
    let second = prop_oneof![0..3_i64, 1_795..1_805_i64];
    prop::collection::vec((0..15_usize, second, mutation), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn with_and_without_a_memory_the_answer_is_the_same(looks in looks()) {
        let tokens = tokens();
        let (forgetful, small, large) = (verifier(0), verifier(1), verifier(16_384));
        for (which, second, mutation) in looks {
            let mut token = tokens[which].clone();
            if let Some((place, flip)) = mutation {
                let place = place % token.len();
                token[place] ^= flip;
            }
            let open = |verifier: &PinVerifier| verifier.open(&token, at(second), lifetimes());
            let expected = open(&forgetful);
            prop_assert_eq!(&open(&small), &expected);
            prop_assert_eq!(&open(&large), &expected);
            prop_assert_eq!(&open(&large), &expected, "when asked again");
        }
    }
}

fn open(codec: &PinCodec, token: &str, now: Timestamp) -> Result<(), Fault> {
    codec.open(token.as_bytes(), now, lifetimes()).map(|_| ())
}

#[test]
fn a_remembered_token_still_ends() {
    let codec = signing();
    let token = codec.seal(&pin()).token;
    assert_eq!(open(&codec, &token, at(1)), Ok(()));
    let end = pin().expires;
    assert_eq!(open(&codec, &token, end), Err(Fault::ExpiredIdle));
    assert_eq!(open(&codec, &token, at(1)), Ok(()), "and nothing else");
}

#[test]
fn a_key_that_has_left_the_ring_is_forgotten_with_it() {
    let (one, two) = (|| ed25519("k1", 1), || ed25519("k2", 2));
    let before = codec_of("checkout", [one(), two()]);
    let token = before.seal(&pin()).token;
    assert_eq!(open(&before, &token, at(1)), Ok(()));
    let after = codec_of("checkout", [two()]);
    assert_eq!(open(&after, &token, at(1)), Err(Fault::UnknownKey));
    let other = codec_of("checkout", [ed25519("k1", 3), two()]);
    assert_eq!(open(&other, &token, at(1)), Err(Fault::BadSignature));
    assert_eq!(open(&before, &token, at(1)), Ok(()), "as before");
}

#[test]
fn what_was_refused_is_refused_again() {
    let codec = signing();
    let stranger = codec_of("checkout", [ed25519("k1", 9)]);
    let token = stranger.seal(&SessionPin {
        revision: Revision(99),
        ..pin()
    });
    for _ in 0..3 {
        let opened = open(&codec, &token.token, at(1));
        assert_eq!(opened, Err(Fault::BadSignature));
    }
}
