//! Bytes that we did not sign.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;

use super::forge::{claims, header, open, ours, pin, signed, token};
use crate::fixtures::{at, codec, id, lifetimes, secret, session};
use crate::{Fault, MAX_TOKEN, Revision, SessionPin};

#[test]
fn sec_02_a_self_made_token_is_no_pin() {
    let (header, claims) = (header().to_string(), claims().to_string());
    for (row, secret) in [
        ("another key", secret(2)),
        ("a short key", b"secret".to_vec()),
    ] {
        let token = signed(&header, &claims, &secret, Algorithm::HS256);
        assert_eq!(open(&token), Err(Fault::BadSignature), "{row}");
    }
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let unsigned = format!(
        "{}.{}.{}",
        encode(&header),
        encode(&claims),
        encode(&"x".repeat(32))
    );
    assert_eq!(open(&unsigned), Err(Fault::BadSignature));
}

#[test]
fn sec_03_an_address_is_no_pin() {
    for address in [
        "127.0.0.1:22",
        "169.254.169.254:80",
        "[::1]:6379",
        "/var/run/docker.sock",
        "/run/a.b.sock",
        "unix:/run/x.sock",
        "A",
        "abcd.efgh.ijkl",
        "10.0.0.1",
        "a.b.c",
        "..",
        ".",
        "",
    ] {
        for text in [
            address.to_owned(),
            STANDARD.encode(address),
            URL_SAFE_NO_PAD.encode(address),
        ] {
            assert_eq!(open(&text), Err(Fault::Malformed), "{text:?}");
        }
    }
}

/// Pins of all kinds: short and long, moved and not.
fn pins(count: u32) -> impl Iterator<Item = String> {
    let ours = ours();
    (0..count).map(move |n| {
        let session = session(u128::from(n) * 0x1_0000_0001_0000_0001);
        let pin = SessionPin::new(session, id("A", n), Revision(n.into()), at(0), lifetimes());
        let pin = if n % 2 == 0 {
            pin
        } else {
            pin.moved(
                id("B", n),
                crate::MoveCause::Gone,
                Revision(n.into()),
                at(0),
                lifetimes(),
            )
        };
        ours.seal(&pin).token
    })
}

#[test]
fn sec_04_no_flipped_bit_is_overlooked() {
    let ours = ours();
    for token in pins(20) {
        let mut bytes = token.into_bytes();
        assert!(ours.open(&bytes, at(1), lifetimes()).is_ok());
        for at_bit in 0..bytes.len() * 8 {
            let (byte, bit) = (at_bit / 8, 1 << (at_bit % 8));
            *bytes.get_mut(byte).unwrap() ^= bit;
            let opened = ours.open(&bytes, at(1), lifetimes());
            assert!(
                opened.is_err(),
                "bit {at_bit} of {}",
                String::from_utf8_lossy(&bytes)
            );
            *bytes.get_mut(byte).unwrap() ^= bit;
        }
    }
}

#[test]
fn sec_04_no_truncation_and_no_appended_byte_is_overlooked() {
    let ours = ours();
    for token in pins(20) {
        for end in 0..token.len() {
            let cut = token.as_bytes().get(..end).unwrap();
            assert!(
                ours.open(cut, at(1), lifetimes()).is_err(),
                "the first {end} bytes"
            );
        }
        for byte in 0..=255 {
            let mut longer = token.clone().into_bytes();
            longer.push(byte);
            assert!(
                ours.open(&longer, at(1), lifetimes()).is_err(),
                "byte {byte} appended"
            );
            longer.rotate_right(1);
            assert!(
                ours.open(&longer, at(1), lifetimes()).is_err(),
                "byte {byte} put before"
            );
        }
    }
}

/// The same symbol of base64url with another spare bit, where its segment has spare bits.
fn with_spare_bit(segment: &str) -> Option<String> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if segment.len().is_multiple_of(4) {
        return None;
    }
    let (head, last) = segment.split_at(segment.len() - 1);
    let symbol = ALPHABET.find(last).unwrap();
    let other = ALPHABET.get((symbol ^ 1)..=(symbol ^ 1)).unwrap();
    Some(format!("{head}{other}"))
}

#[test]
fn sec_05_only_the_canonical_spelling_opens() {
    let token = token();
    let parts: Vec<&str> = token.split('.').collect();
    let mut spellings = vec![
        format!(" {token}"),
        format!("{token} "),
        format!("{token}\n"),
        format!("\t{token}"),
        format!("\"{token}\""),
        format!("{token}="),
        format!("{token}=="),
        format!("{token}."),
        format!(".{token}"),
        token.replace('.', "%2E"),
        token.replace('.', ".."),
        token.replace('.', " . "),
        format!(
            "%{:02X}{}",
            token.as_bytes().first().unwrap(),
            token.get(1..).unwrap()
        ),
        parts
            .iter()
            .map(|p| format!("{p}="))
            .collect::<Vec<_>>()
            .join("."),
        format!("{}\u{0}", token),
        format!("Bearer {token}"),
    ];
    for (n, part) in parts.iter().enumerate() {
        if let Some(other) = with_spare_bit(part) {
            let mut parts = parts.clone();
            *parts.get_mut(n).unwrap() = &other;
            spellings.push(parts.join("."));
        }
    }
    assert!(
        spellings.len() > 16,
        "at least the signature has spare bits"
    );
    for spelling in spellings {
        assert!(open(&spelling).is_err(), "{spelling:?} was accepted");
    }
}

#[test]
fn sec_05_the_other_alphabet_of_base64_is_not_ours() {
    let mut seen = 0;
    for token in pins(40).filter(|token| token.contains(['-', '_'])) {
        let other = token.replace('-', "+").replace('_', "/");
        assert!(open(&other).is_err(), "{other}");
        seen += 1;
    }
    assert!(seen > 20, "only {seen} tokens had a symbol that differs");
}

#[test]
fn sec_06_a_pin_of_another_service_is_no_pin() {
    let other = codec("payment", &[("k1", 1)]).seal(&pin()).token;
    assert_eq!(open(&other), Err(Fault::WrongAudience));
    let prefix = codec("checkout-eu", &[("k1", 1)]).seal(&pin()).token;
    assert_eq!(open(&prefix), Err(Fault::WrongAudience));
}

#[test]
fn sec_10_a_long_token_is_cut_off_before_it_is_looked_at() {
    for text in [
        "x".repeat(MAX_TOKEN + 1),
        "x".repeat(8 << 10),
        ".".repeat(1000),
        "x".repeat(64 << 10),
        "é".repeat(512 << 10),
        format!("{}{}", token(), "A".repeat(MAX_TOKEN)),
    ] {
        assert_eq!(open(&text), Err(Fault::Oversize), "{} bytes", text.len());
    }
    assert_eq!(open(&".".repeat(MAX_TOKEN)), Err(Fault::Malformed));
    assert_eq!(open(&"x".repeat(MAX_TOKEN)), Err(Fault::Malformed));
}

#[test]
fn bytes_that_are_no_text_are_malformed() {
    let ours = ours();
    for bytes in [&[0xff][..], &[0x80, b'.', 0x80, b'.'], b"\xc3\x28.a.b"] {
        assert_eq!(
            ours.open(bytes, at(1), lifetimes()),
            Err(Fault::Malformed),
            "{bytes:?}"
        );
    }
}
