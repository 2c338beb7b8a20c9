//! The simulator finds nothing wrong with the rules, and everything that is planted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod bugs;
mod seeds;
