//! The pin on the wire: a compact JWS whose claims are typed and checked here.
//!
//! `key` is one key, `hs256` and `ed25519` are what it does, and `keyring` holds them; `code` hides the
//! names of groups and endpoints and `coded` remembers how, `claims` is the JSON and `scan` reads it as we write it, `head` is what tokens
//! begin with, `codec` seals and `verifier` opens; `verified`
//! spares it what it has verified before. `grant` does both for overrides and `hop` for marks, which
//! are tokens of other kinds. `digest` shows that two replicas hold the same key.

mod claims;
mod code;
mod codec;
mod coded;
mod digest;
mod ed25519;
mod grant;
mod head;
mod hop;
mod hs256;
mod id_secret;
mod key;
mod key_error;
mod key_id;
mod keyring;
mod scan;
#[cfg(test)]
mod tests;
mod verified;
mod verifier;

pub use self::code::{CodeCollision, EndpointCodes, GroupCodes};
pub use self::codec::{PinCodec, Sealed};
pub use self::digest::KeyDigest;
pub use self::ed25519::ED25519_KEY;
pub use self::grant::{MAX_OVERRIDE, Override};
pub use self::hop::{HOP_LIFE, MAX_HOP};
pub use self::id_secret::IdSecret;
pub use self::key::{Key, KeyKind};
pub use self::key_error::KeyError;
pub use self::key_id::KeyId;
pub use self::keyring::{Keyring, MAX_KEYS, VerifyingKeyring};
pub use self::verifier::{MAX_ASYMMETRIC, MAX_TOKEN, Opened, Opener, PinVerifier};
