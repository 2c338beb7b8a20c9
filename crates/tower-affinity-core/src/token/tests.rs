//! Tokens: what we write, and everything that we must not believe.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod claims;
mod codes;
mod confusion;
mod ed25519;
mod endpoints;
mod forge;
mod forgery;
mod headers;
mod hop;
mod hs256;
mod keys;
mod length;
mod mixed;
mod opaque;
mod rotation;
mod scan;
mod times;
mod verified;
mod verifying;
