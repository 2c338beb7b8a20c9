//! Tokens: what we write, and everything that we must not believe.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod claims;
mod codes;
mod endpoints;
mod forge;
mod forgery;
mod headers;
mod hop;
mod keys;
mod length;
mod opaque;
mod rotation;
mod times;
