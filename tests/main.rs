//! One binary for all end-to-end stories and attacks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod attacks;
mod stories;
