//! Facts about what is counted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod cost;
mod gauges;
mod handles;
mod requests;
