//! Keys and rings that cannot be used, and what is never printed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::forge::ours;
use crate::fixtures::{key, secret};
use crate::{Key, KeyError, KeyId, Keyring, MAX_KEYS};

fn kid(text: &str) -> KeyId {
    text.parse().unwrap()
}

#[test]
fn sec_55_a_weak_key_is_refused() {
    for (row, bytes) in [
        ("empty", vec![]),
        ("8 bytes", b"12345678".to_vec()),
        ("31 bytes", secret(1).into_iter().take(31).collect()),
    ] {
        let error = Key::hs256(kid("k1"), &bytes).unwrap_err();
        let expected = KeyError::Short {
            id: kid("k1"),
            len: bytes.len(),
        };
        assert_eq!(error, expected, "{row}");
    }
    for (row, bytes) in [
        ("zeros", vec![0; 32]),
        ("many zeros", vec![0; 64]),
        ("one byte", vec![b'x'; 40]),
        ("an example", b"an example key, not for real use".to_vec()),
        ("digits", b"0123456789abcdef0123456789abcdef".to_vec()),
    ] {
        let error = Key::hs256(kid("k1"), &bytes).unwrap_err();
        assert_eq!(error, KeyError::Weak(kid("k1")), "{row}");
    }
    assert!(
        Key::hs256(kid("k1"), &secret(1)).is_ok(),
        "32 bytes are enough"
    );
}

#[test]
fn a_ring_has_one_to_sixteen_keys_with_different_ids() {
    let ring = |count: u8| Keyring::new((0..count).map(|n| key(&format!("k{n}"), n + 1)));
    assert_eq!(ring(0).unwrap_err(), KeyError::Empty);
    assert_eq!(ring(16).unwrap().keys().len(), MAX_KEYS);
    assert_eq!(ring(17).unwrap_err(), KeyError::TooMany(17));
    let twice = Keyring::new([key("k1", 1), key("k2", 2), key("k1", 3)]);
    assert_eq!(twice.unwrap_err(), KeyError::Duplicate(kid("k1")));
}

#[test]
fn key_ids_are_short_and_plain() {
    for good in ["1", "2026-11", "a_b-C", "abcdefghijklmnop"] {
        assert_eq!(good.parse::<KeyId>().unwrap().as_str(), good);
    }
    for bad in [
        "",
        "abcdefghijklmnopq",
        "a b",
        "a.b",
        "ä",
        "a\n",
        "../x",
        "a:b",
    ] {
        assert_eq!(bad.parse::<KeyId>(), Err(KeyError::Id), "{bad:?}");
    }
}

#[test]
fn a_ring_is_written_as_ids_and_base64url() {
    let encoded = |seed| URL_SAFE_NO_PAD.encode(secret(seed));
    let text = format!("new:{}, old:{}", encoded(1), encoded(2));
    let ids: Vec<String> = Keyring::parse(&text)
        .unwrap()
        .keys()
        .iter()
        .map(|key| key.id().to_string())
        .collect();
    assert_eq!(ids, ["new", "old"], "the first one signs");
    for (bad, error) in [
        (String::new(), KeyError::Empty),
        (" , ".to_owned(), KeyError::Empty),
        ("k1".to_owned(), KeyError::Form),
        (
            "k1:".to_owned(),
            KeyError::Short {
                id: kid("k1"),
                len: 0,
            },
        ),
        (format!("k1:{}=", encoded(1)), KeyError::Form),
        ("k1:not base64".to_owned(), KeyError::Form),
        (format!("k 1:{}", encoded(1)), KeyError::Id),
        (format!(":{}", encoded(1)), KeyError::Id),
        (
            format!("k1:{0},k1:{0}", encoded(1)),
            KeyError::Duplicate(kid("k1")),
        ),
        (format!("k1:hs256:{}", encoded(1)), KeyError::Form),
    ] {
        assert_eq!(Keyring::parse(&bad).unwrap_err(), error, "{bad:?}");
    }
}

#[test]
fn sec_34_nothing_of_a_key_is_printed() {
    let ring = Keyring::new([key("k1", 1)]).unwrap();
    let encoded = URL_SAFE_NO_PAD.encode(secret(1));
    let listed = format!("{:?}", secret(1));
    let texts = [
        format!("{ring:?}"),
        format!("{:?}", ring.keys()),
        format!("{:?}", ours()),
        KeyError::Weak(kid("k1")).to_string(),
        Keyring::parse(&format!("{encoded}:x"))
            .unwrap_err()
            .to_string(),
        Keyring::parse(&format!("k1:{encoded}="))
            .unwrap_err()
            .to_string(),
        format!(
            "{:?}",
            Keyring::parse(&format!("k1:{encoded}=")).unwrap_err()
        ),
    ];
    for text in texts {
        let shown = text.contains(&encoded) || text.contains(listed.trim_matches(['[', ']']));
        assert!(!shown, "{text}");
        assert!(text.len() < 300, "too much to be nothing: {text}");
    }
}
