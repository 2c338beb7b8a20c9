//! Pins that Ed25519 signs: what holds for those of HS256 holds for these.

use super::forge::pin;
use crate::fixtures::{
    at, ed25519, endpoint, id, ids, lifetimes, name, public, rollout, secret, service,
};
use crate::{
    Fault, GroupRef, IdSecret, Key, KeyError, KeyId, KeyKind, Keyring, LastMove, MAX_TOKEN,
    Outcomes, PinCodec, Revision, SessionPin, ToldCause,
};

/// The codec of service `checkout` with one Ed25519 key `k1`.
pub(super) fn signing() -> PinCodec {
    codec_of("checkout", [ed25519("k1", 1)])
}

pub(super) fn codec_of(name: &str, keys: impl IntoIterator<Item = Key>) -> PinCodec {
    let ring = Keyring::with_id_secret(keys, ids()).unwrap();
    PinCodec::new(service(name), &ring)
}

fn kid(text: &str) -> KeyId {
    text.parse().unwrap()
}

#[test]
fn what_is_sealed_is_opened_and_says_who_signed_it() {
    let codec = signing();
    let token = codec.seal(&pin()).token;
    let mut opened = codec.open(token.as_bytes(), at(1), lifetimes()).unwrap();
    assert_eq!(opened.key, kid("k1"));
    codec
        .codes(&rollout(&[("A", 1)]))
        .unwrap()
        .resolve(&mut opened.pin);
    assert_eq!(opened.pin, pin());
}

#[test]
fn replicas_with_the_same_seed_write_the_same_bytes() {
    assert_eq!(signing().seal(&pin()), signing().seal(&pin()));
    let digests = |ids: &IdSecret, key| {
        let ring = Keyring::with_id_secret([key], ids.clone()).unwrap();
        ring.digests()
    };
    let one = digests(&ids(), ed25519("k1", 1));
    assert_eq!(one, digests(&ids(), ed25519("k1", 1)));
    assert_ne!(one, digests(&ids(), ed25519("k1", 2)), "another seed");
    let other = IdSecret::new(&secret(201)).unwrap();
    assert_ne!(one, digests(&other, ed25519("k1", 1)), "another id secret");
}

#[test]
fn the_public_half_is_that_of_rfc_8032() {
    // section 7.1, test 2
    let seed = *b"\x4c\xcd\x08\x9b\x28\xff\x96\xda\x9d\xb6\xc3\x46\xec\x11\x4e\x0f\
        \x5b\x8a\x31\x9f\x35\xab\xa6\x24\xda\x8c\xf6\xed\x4f\xb8\xa6\xfb";
    let expected = *b"\x3d\x40\x17\xc3\xe8\x43\x89\x5a\x92\xb7\x0a\xa7\x4d\x1b\x7e\xbc\
        \x9c\x98\x2c\xcf\x2e\xc4\x96\x8c\xc0\xcd\x55\xf1\x2a\xf4\x66\x0c";
    let key = Key::ed25519(kid("k1"), &seed).unwrap();
    assert_eq!(key.public(), Some(expected));
    assert_eq!(key.kind(), KeyKind::Ed25519);
    assert_eq!(public(&key).kind(), KeyKind::Ed25519Public);
}

#[test]
fn sec_04_no_flipped_bit_of_a_signature_and_no_cut_is_overlooked() {
    let codec = signing();
    let token = codec.seal(&pin()).token.into_bytes();
    assert!(codec.open(&token, at(1), lifetimes()).is_ok());
    // one bit of every byte: the signature is dear to verify without optimisation
    for byte in 0..token.len() {
        let mut other = token.clone();
        *other.get_mut(byte).unwrap() ^= 1 << (byte % 7);
        assert!(
            codec.open(&other, at(1), lifetimes()).is_err(),
            "byte {byte}"
        );
        let cut = token.get(..byte).unwrap();
        assert!(
            codec.open(cut, at(1), lifetimes()).is_err(),
            "cut at {byte}"
        );
    }
    assert!(
        codec.open(&token, at(1), lifetimes()).is_ok(),
        "still remembered, and still itself"
    );
}

#[test]
fn sec_55_a_weak_or_wrong_key_is_refused_by_its_id() {
    for len in [0, 8, 31, 33, 48, 64] {
        let bytes: Vec<u8> = (1..=len).collect();
        let expected = KeyError::Length {
            id: kid("k1"),
            len: bytes.len(),
        };
        let made = [
            Key::ed25519(kid("k1"), &bytes),
            Key::ed25519_public(kid("k1"), &bytes),
        ];
        assert!(made.into_iter().all(|key| key.unwrap_err() == expected));
    }
    let rfc = b"\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4\
        \x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60";
    for weak in [
        &[0; 32],
        &[7; 32],
        rfc,
        b"an example key, not for real use",
        b"0123456789abcdef0123456789abcdef",
    ] {
        let error = Key::ed25519(kid("k1"), weak).unwrap_err();
        assert_eq!(error, KeyError::Weak(kid("k1")), "{weak:?}");
        assert!(error.to_string().contains("k1"), "{error}");
    }
}

#[test]
fn a_public_key_that_everybody_can_sign_for_is_refused() {
    let order_8 = *b"\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\
        \xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05";
    let of = |lowest: u8, rest: u8, last: u8| {
        let mut point = [rest; 32];
        point[0] = lowest;
        point[31] = last;
        point
    };
    let mut negative = order_8;
    negative[31] |= 0x80;
    for point in [
        of(0, 0, 0),
        of(1, 0, 0),
        of(1, 0, 0x80),
        of(0xec, 0xff, 0x7f),
        of(0xed, 0xff, 0x7f),
        of(0xee, 0xff, 0xff),
        order_8,
        negative,
    ] {
        let error = Key::ed25519_public(kid("k1"), &point).unwrap_err();
        assert_eq!(error, KeyError::Weak(kid("k1")), "{point:?}");
    }
    // y = 2 is on no point of the curve
    let error = Key::ed25519_public(kid("k1"), &of(2, 0, 0)).unwrap_err();
    assert_eq!(error, KeyError::Unusable(kid("k1")));
}

#[test]
fn the_codes_of_groups_depend_on_the_id_secret_and_not_on_the_key() {
    let of = |ids: IdSecret, key| {
        let ring = Keyring::with_id_secret([key], ids).unwrap();
        let codec = PinCodec::new(service("checkout"), &ring);
        super::forge::payload(&codec.seal(&pin()).token)["grp"].clone()
    };
    let one = of(ids(), ed25519("k1", 1));
    assert_eq!(one, of(ids(), ed25519("k2", 2)), "another key");
    let other = IdSecret::new(&secret(201)).unwrap();
    assert_ne!(one, of(other, ed25519("k1", 1)), "another id secret");
    assert_eq!(one, "_jcF-H4i0Ez1Dw", "in every release");
}

#[test]
fn the_longest_pin_fits_and_loses_only_what_a_session_can_do_without() {
    let codec = codec_of(&"s".repeat(32), [ed25519(&"k".repeat(16), 1)]);
    // the greatest that is believed, see `SessionPin::check_times`
    let revision = Revision(5_999_999_999);
    let greatest = SessionPin {
        revision,
        assigned: revision,
        moves: u32::MAX,
        placed: true,
        released: true,
        outcomes: Outcomes::from_bits(u16::MAX),
        last_move: Some(LastMove {
            from: GroupRef::Known(id(&"g".repeat(128), u32::MAX)),
            at: at(0),
            cause: ToldCause::parse(&"w".repeat(16)).unwrap(),
        }),
        ..pin()
    }
    .at_endpoint(Some(endpoint("10.0.0.1:8080")));
    let sealed = codec.seal(&greatest);
    assert!(sealed.token.len() <= MAX_TOKEN, "{}", sealed.token.len());
    let opened = codec.open(sealed.token.as_bytes(), at(1), lifetimes());
    let mut opened = opened.unwrap().pin;
    codec
        .codes(&rollout(&[("A", 1)]))
        .unwrap()
        .resolve(&mut opened);
    let expected = SessionPin {
        outcomes: Outcomes::default(),
        endpoint: None,
        last_move: None,
        ..greatest.clone()
    };
    assert_eq!(opened, expected);
    // a service of a usual name has room for all but the outcomes
    let usual = signing().seal(&SessionPin {
        revision: Revision(1_800_000_000),
        assigned: Revision(1_800_000_000),
        moves: 1,
        ..greatest
    });
    assert!(super::forge::payload(&usual.token)["mf"].is_string());
}

#[test]
fn overrides_are_signed_by_a_key_of_their_own() {
    let codec = signing();
    let ttl = std::time::Duration::from_secs(60);
    let token = codec.seal_override(&id("A", 1), ttl, false, at(0)).unwrap();
    let mut chosen = codec.open_override(token.as_bytes(), at(1)).unwrap();
    codec
        .codes(&rollout(&[("A", 1)]))
        .unwrap()
        .resolve_override(&mut chosen);
    assert_eq!(chosen.group.label(), name("A").as_str());
    let as_pin = codec.open(token.as_bytes(), at(1), lifetimes());
    assert_eq!(as_pin, Err(Fault::WrongType));
    // nor does the key of pins verify one: the signature under the other header
    let pin = codec.seal(&pin()).token;
    let signature = pin.rsplit_once('.').unwrap().1;
    let forged = format!("{}.{signature}", token.rsplit_once('.').unwrap().0);
    assert_eq!(
        codec.open_override(forged.as_bytes(), at(1)),
        Err(Fault::BadSignature)
    );
    assert_eq!(
        codec.open_override(pin.as_bytes(), at(1)),
        Err(Fault::WrongType)
    );
}
