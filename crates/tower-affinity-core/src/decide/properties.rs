//! The invariants of the rules, held against random histories and requests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod bytes;
mod forwarding;
mod moves;
mod navigation;
mod requests;
mod steps;
mod versions;
mod world;
