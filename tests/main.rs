//! One binary for all end-to-end stories, attacks and cases of conformance.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod attacks;
mod conformance;
mod stories;
