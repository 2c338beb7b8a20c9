//! Facts about a service behind a gateway.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod both;
mod local;
mod pins;
mod signals;
mod support;
mod told;
mod untrusted;
