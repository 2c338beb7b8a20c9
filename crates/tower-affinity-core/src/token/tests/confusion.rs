//! SEC-14: one key has one algorithm, which is chosen by us; a token's header is only compared.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;
use serde_json::json;

use super::ed25519::signing;
use super::forge::{claims, ours, pin, signed, token};
use crate::fixtures::{at, ed25519, key, lifetimes, public, secret};
use crate::{Fault, Key, KeyError, Keyring, VerifyingKeyring};

/// Every way to write a public key that somebody could take for a secret.
fn spellings(public: &[u8; 32]) -> Vec<Vec<u8>> {
    let spki: Vec<u8> = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
        .iter()
        .chain(public)
        .copied()
        .collect();
    let base64 = STANDARD.encode(&spki);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{base64}\n-----END PUBLIC KEY-----");
    let x = URL_SAFE_NO_PAD.encode(public);
    let jwk = format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"{x}\"}}");
    let hex: String = public.iter().map(|byte| format!("{byte:02x}")).collect();
    vec![
        public.to_vec(),
        spki,
        format!("{pem}\n").into_bytes(),
        pem.into_bytes(),
        base64.into_bytes(),
        x.into_bytes(),
        jwk.into_bytes(),
        hex.into_bytes(),
    ]
}

#[test]
fn sec_14_a_public_key_is_no_secret_of_hmac() {
    let codec = signing();
    let public = ed25519("k1", 1).public().unwrap();
    let claims = super::forge::payload(&codec.seal(&pin()).token).to_string();
    for secret in spellings(&public) {
        for (alg, word) in [
            (Algorithm::HS256, "HS256"),
            (Algorithm::HS384, "HS384"),
            (Algorithm::HS512, "HS512"),
            // what the key itself would be named, over an HMAC
            (Algorithm::HS256, "EdDSA"),
            (Algorithm::HS512, "EdDSA"),
        ] {
            let header = json!({"typ": "affinity+jwt", "alg": word, "kid": "k1"}).to_string();
            let token = signed(&header, &claims, &secret, alg);
            let opened = codec.open(token.as_bytes(), at(1), lifetimes());
            assert_eq!(opened, Err(Fault::BadSignature), "{word} over {secret:?}");
        }
    }
}

#[test]
fn sec_14_the_algorithm_in_a_header_changes_nothing() {
    // the other algorithm in the header, the right signature of the key over exactly that
    let (symmetric, asymmetric) = (ours(), signing());
    let hmac = signed(
        &json!({"typ": "affinity+jwt", "alg": "EdDSA", "kid": "k1"}).to_string(),
        &claims().to_string(),
        &secret(1),
        Algorithm::HS256,
    );
    let opened = symmetric.open(hmac.as_bytes(), at(1), lifetimes());
    assert_eq!(opened, Err(Fault::BadSignature), "HMAC named EdDSA");

    let header = json!({"typ": "affinity+jwt", "alg": "HS256", "kid": "k1"}).to_string();
    let payload = super::forge::payload(&asymmetric.seal(&pin()).token).to_string();
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let message = format!("{}.{}", encode(&header), encode(&payload));
    let signature = ed25519("k1", 1).sign(&message).unwrap();
    let named = format!("{message}.{signature}");
    let opened = asymmetric.open(named.as_bytes(), at(1), lifetimes());
    assert_eq!(opened, Err(Fault::BadSignature), "EdDSA named HS256");

    // and each one's own token at the other, under the same id
    let (hs, ed) = (token(), asymmetric.seal(&pin()).token);
    let opened = asymmetric.open(hs.as_bytes(), at(1), lifetimes());
    assert_eq!(opened, Err(Fault::BadSignature), "a token of HS256");
    let opened = symmetric.open(ed.as_bytes(), at(1), lifetimes());
    assert_eq!(opened, Err(Fault::BadSignature), "a token of Ed25519");
}

#[test]
fn sec_13_no_algorithm_is_none_of_ed25519_either() {
    let codec = signing();
    let token = codec.seal(&pin()).token;
    let payload = token.split('.').nth(1).unwrap();
    for word in ["none", "None", "NONE", "nOnE", "ES256", "RS256", "Ed448"] {
        let header = json!({"typ": "affinity+jwt", "alg": word, "kid": "k1"}).to_string();
        let header = URL_SAFE_NO_PAD.encode(header);
        for signature in ["", "AAAA", token.rsplit_once('.').unwrap().1] {
            let forged = format!("{header}.{payload}.{signature}");
            let opened = codec.open(forged.as_bytes(), at(1), lifetimes());
            assert!(opened.is_err(), "{word} was accepted");
        }
    }
}

#[test]
fn a_ring_in_which_a_secret_is_shown_is_refused() {
    let ed = ed25519("ed", 1);
    let as_secret = |bytes: &[u8]| Key::hs256("hs".parse().unwrap(), bytes).unwrap();
    let (id, hs) = (|text: &str| text.parse().unwrap(), ed.public().unwrap());
    for (row, keys) in [
        ("the public half", [as_secret(&hs), public(&ed)]),
        ("that of a key that signs", [as_secret(&hs), ed.clone()]),
        ("the seed", [as_secret(&secret(1)), ed.clone()]),
    ] {
        let refused = KeyError::Shared(id("hs"), id("ed"));
        let error = VerifyingKeyring::new(keys.clone()).unwrap_err();
        assert_eq!(error, refused, "{row}");
        let [one, two] = keys;
        let error = Keyring::with_id_secret([one, two], crate::fixtures::ids()).unwrap_err();
        assert_eq!(error, refused, "{row}");
    }
    let error = Keyring::with_id_secret([key("hs", 200)], crate::fixtures::ids());
    assert_eq!(error.unwrap_err(), KeyError::WeakIdSecret);
}
