//! Tokens made by hand, with any header and any claims.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use crate::fixtures::{at, codec, id, lifetimes, secret, session};
use crate::{Fault, Opened, PinCodec, Revision, SessionPin};

/// The codec of the tests: service `checkout`, one key `k1`.
pub(super) fn ours() -> PinCodec {
    codec("checkout", &[("k1", 1)])
}

/// P(A, 10), issued at the begin of the test.
pub(super) fn pin() -> SessionPin {
    SessionPin::new(session(42), id("A", 1), Revision(10), at(0), lifetimes())
}

/// Our token of [`pin`].
pub(super) fn token() -> String {
    ours().seal(&pin()).token
}

pub(super) fn open(token: &str) -> Result<Opened, Fault> {
    ours().open(token.as_bytes(), at(1), lifetimes())
}

/// The header that our tokens have.
pub(super) fn header() -> Value {
    json!({"typ": "affinity+jwt", "alg": "HS256", "kid": "k1"})
}

/// The claims of [`token`], as a table that can be changed.
pub(super) fn claims() -> Value {
    payload(&token())
}

pub(super) fn payload(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// A token of that header and those claims, signed with our key.
pub(super) fn forged(header: &Value, claims: &Value) -> String {
    signed(
        &header.to_string(),
        &claims.to_string(),
        &secret(1),
        Algorithm::HS256,
    )
}

/// A token of that very text, signed with any key and algorithm.
pub(super) fn signed(header: &str, claims: &str, secret: &[u8], algorithm: Algorithm) -> String {
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let message = format!("{}.{}", encode(header), encode(claims));
    let key = EncodingKey::from_secret(secret).unwrap();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// Our claims with one of them replaced.
pub(super) fn with(claim: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[claim] = value;
    claims
}

/// Our header with one member replaced.
pub(super) fn header_with(member: &str, value: Value) -> Value {
    let mut header = header();
    header[member] = value;
    header
}

#[test]
fn a_forged_token_with_our_key_is_ours() {
    // so that the refusals of the other tests have no other reason than the one that they name
    let opened = open(&forged(&header(), &claims())).unwrap();
    assert_eq!(opened, open(&token()).unwrap());
}
