//! The bytes of keys for Ed25519 (RFC 8032), in the forms that the library takes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::{Algorithm, EncodingKey};

/// The length of a seed, and of a public key, in bytes.
pub const ED25519_KEY: usize = 32;

/// What comes before the seed in a private key of PKCS#8 (RFC 8410): the version, the algorithm, and
/// how long the rest is.
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The points of order 1, 2, 4 and 8, without the sign of `x`, also as what they could be written
/// as. A signature by such a public key can be made by anybody.
const SMALL_ORDER: [[u8; ED25519_KEY]; 7] = [
    little_endian(0x00, 0x00),
    little_endian(0x01, 0x00),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
    little_endian(0xec, 0xff),
    little_endian(0xed, 0xff),
    little_endian(0xee, 0xff),
];

/// The number with that lowest byte and `rest` in all others, of 255 bits.
const fn little_endian(lowest: u8, rest: u8) -> [u8; ED25519_KEY] {
    let mut bytes = [rest; ED25519_KEY];
    bytes[0] = lowest;
    bytes[ED25519_KEY - 1] = rest & 0x7f;
    bytes
}

/// The seed as the library takes it.
pub(super) fn private(seed: &[u8; ED25519_KEY]) -> EncodingKey {
    let mut der = [0; PKCS8.len() + ED25519_KEY];
    let (head, tail) = der.split_at_mut(PKCS8.len());
    head.copy_from_slice(&PKCS8);
    tail.copy_from_slice(seed);
    EncodingKey::from_ed_der(&der)
}

/// The public key that belongs to a private one; `None` if the cryptography cannot tell.
pub(super) fn public(private: &EncodingKey) -> Option<[u8; ED25519_KEY]> {
    match Jwk::from_encoding_key(private, Algorithm::EdDSA)
        .ok()?
        .algorithm
    {
        AlgorithmParameters::OctetKeyPair(pair) => {
            URL_SAFE_NO_PAD.decode(pair.x).ok()?.try_into().ok()
        }
        _ => None,
    }
}

/// Whether anybody can sign for a public key.
pub(super) fn has_small_order(public: &[u8; ED25519_KEY]) -> bool {
    let mut unsigned = *public;
    if let Some(last) = unsigned.last_mut() {
        *last &= 0x7f;
    }
    SMALL_ORDER.contains(&unsigned)
}
