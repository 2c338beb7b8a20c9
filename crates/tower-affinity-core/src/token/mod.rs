//! The pin on the wire: a compact JWS whose claims are typed and checked here.
//!
//! `keyring` holds the keys, `code` hides the names of groups and endpoints, `claims` is the JSON, `codec` seals
//! and opens; `grant` does so for overrides and `hop` for marks, which are tokens of other kinds. `digest` shows that
//! two replicas hold the same key.

mod claims;
mod code;
mod codec;
mod digest;
mod grant;
mod hop;
mod keyring;
#[cfg(test)]
mod tests;

pub use self::code::{CodeCollision, EndpointCodes, GroupCodes};
pub use self::codec::{MAX_TOKEN, Opened, PinCodec, Sealed};
pub use self::digest::KeyDigest;
pub use self::grant::{MAX_OVERRIDE, Override};
pub use self::hop::{HOP_LIFE, MAX_HOP};
pub use self::keyring::{Algorithm, Key, KeyError, KeyId, Keyring, MAX_KEYS};
