//! Rings with keys of both algorithms, and how they are written.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::ed25519::codec_of;
use super::forge::{ours, pin};
use crate::fixtures::{at, ed25519, ids, key, lifetimes, public, rollout, secret};
use crate::{Fault, KeyError, KeyKind, Keyring, PinCodec, SessionPin, VerifyingKeyring};

/// The pin of a token with its group, and the key that signed it.
fn read(reader: &PinCodec, token: &str) -> Result<(SessionPin, String), Fault> {
    let mut opened = reader.open(token.as_bytes(), at(1), lifetimes())?;
    let codes = reader.codes(&rollout(&[("A", 1)])).unwrap();
    codes.resolve(&mut opened.pin);
    Ok((opened.pin, opened.key.to_string()))
}

/// Rings in the order in which they are rolled out, in which the next key is always known before it
/// signs.
fn lose_nothing(phases: &[PinCodec]) {
    for pair in phases.windows(2) {
        // a step of the rotation reaches one replica before the other
        for (here, there) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let (held, _) = read(here, &there.seal(&pin()).token).unwrap();
            assert_eq!(held, pin(), "{here:?} reads {there:?}");
            let (again, key) = read(there, &here.seal(&held).token).unwrap();
            assert_eq!(again, pin(), "{there:?} reads what {here:?} wrote anew");
            assert_eq!(Some(&*key), here.key_ids().next().map(|id| id.as_str()));
        }
    }
}

#[test]
fn a_rotation_to_ed25519_and_back_loses_no_pin() {
    let (hs, ed) = (|| key("hs", 1), || ed25519("ed", 2));
    lose_nothing(&[
        PinCodec::new(ours().service().clone(), &Keyring::new([hs()]).unwrap()),
        codec_of("checkout", [hs(), public(&ed())]),
        codec_of("checkout", [ed(), hs()]),
        codec_of("checkout", [ed()]),
        codec_of("checkout", [ed(), hs()]),
        codec_of("checkout", [hs(), ed()]),
        PinCodec::new(ours().service().clone(), &Keyring::new([hs()]).unwrap()),
    ]);
}

#[test]
fn a_ring_that_signs_has_what_it_needs_for_that() {
    let ed = ed25519("ed", 2);
    let id = || ed.id().clone();
    let verifies_only = Keyring::with_id_secret([public(&ed), key("hs", 1)], ids());
    assert_eq!(verifies_only.unwrap_err(), KeyError::VerifiesOnly(id()));
    for keys in [vec![ed.clone()], vec![key("hs", 1), public(&ed)]] {
        let without = Keyring::new(keys).unwrap_err();
        assert_eq!(without, KeyError::NoIdSecret(id()));
    }
    assert!(Keyring::verifying([public(&ed)]).is_ok());
    assert!(Keyring::verifying([]).is_err());
}

#[test]
fn a_ring_is_written_with_the_kind_of_each_key() {
    let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let (seed, half) = (secret(2), ed25519("x", 3).public().unwrap());
    let text = format!(
        "ed:ed25519:{}, pub:ed25519-public:{},hs:{}",
        encoded(&seed),
        encoded(&half),
        encoded(&secret(1))
    );
    let kinds = |keys: &[crate::Key]| -> Vec<_> {
        let kinds = keys.iter().map(|key| (key.id().to_string(), key.kind()));
        kinds.collect()
    };
    let expected = [
        ("ed".to_owned(), KeyKind::Ed25519),
        ("pub".to_owned(), KeyKind::Ed25519Public),
        ("hs".to_owned(), KeyKind::Hs256),
    ];
    let ring = Keyring::parse_with_id_secret(&text, ids()).unwrap();
    assert_eq!(kinds(ring.keys()), expected);
    assert_eq!(ring.keys()[1].public(), Some(half));
    let error = Keyring::parse(&text).unwrap_err();
    assert_eq!(error, KeyError::NoIdSecret("ed".parse().unwrap()));
    let verifying = VerifyingKeyring::parse(&text).unwrap();
    assert_eq!(kinds(verifying.keys()), expected);

    for (bad, error) in [
        (
            "k:ed25519:",
            KeyError::Length {
                id: "k".parse().unwrap(),
                len: 0,
            },
        ),
        (
            "k:ed25519-public:AAAA",
            KeyError::Length {
                id: "k".parse().unwrap(),
                len: 3,
            },
        ),
        (
            "k:ed25519",
            KeyError::Short {
                id: "k".parse().unwrap(),
                len: 5,
            },
        ),
        ("k:ED25519:AAAA", KeyError::Form),
        ("k:ed25519:ed25519:AAAA", KeyError::Form),
        ("k:ed25519-secret:AAAA", KeyError::Form),
    ] {
        let got = VerifyingKeyring::parse(bad).unwrap_err();
        assert!(
            got == error || matches!(got, KeyError::Form),
            "{bad}: {got}"
        );
    }
}
