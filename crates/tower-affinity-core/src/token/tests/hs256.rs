//! HS256 by us and by the library: they agree on every message, key and signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::{sign, verify};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use proptest::prelude::*;

use super::super::hs256::Hs256;
use crate::Fault;

/// A signature that is right, or changed in one of the ways that a forger has.
fn changed(signature: &str, how: u8, at: usize) -> String {
    let mut bytes = signature.as_bytes().to_vec();
    let at = at % bytes.len();
    match how {
        0 => {}
        1 => bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' },
        // spare bits of the last symbol
        2 => *bytes.last_mut().unwrap() = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[at % 26],
        3 => bytes.truncate(at),
        4 => bytes.push(b'='),
        5 => bytes.extend_from_slice(b"AA"),
        6 => bytes[at] = b'+',
        7 => bytes[at] = b' ',
        _ => bytes.clear(),
    }
    String::from_utf8(bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn we_sign_and_verify_as_the_library_does(
        secret in proptest::collection::vec(any::<u8>(), 32..200),
        message in "[A-Za-z0-9_.-]{0,600}",
        how in 0_u8..9,
        at in any::<usize>(),
    ) {
        let ours = Hs256::new(&secret).unwrap();
        let encoding = EncodingKey::from_secret(&secret).unwrap();
        let decoding = DecodingKey::from_secret(&secret).unwrap();
        let signature = sign(message.as_bytes(), &encoding, Algorithm::HS256).unwrap();
        prop_assert_eq!(ours.sign(message.as_bytes()), &*signature);

        let signature = changed(&signature, how, at);
        let theirs = verify(&signature, message.as_bytes(), &decoding, Algorithm::HS256);
        let theirs = match theirs {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::BadSignature),
            Err(_) => Err(Fault::Malformed),
        };
        prop_assert_eq!(ours.verify(message.as_bytes(), signature.as_bytes()), theirs, "{}", signature);
    }
}

/// RFC 4231, test case 2: a key that is shorter than those that rings take.
#[test]
fn the_published_answer_comes_out() {
    let ours = Hs256::new(b"Jefe").unwrap();
    let signature = ours.sign(b"what do ya want for nothing?");
    let bytes = URL_SAFE_NO_PAD.decode(&signature).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    assert_eq!(
        ours.verify(b"what do ya want for nothing?", signature.as_bytes()),
        Ok(())
    );
}
