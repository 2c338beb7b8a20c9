//! The store in DynamoDB, against dynalite on loopback and against a stub that misbehaves. Where
//! there is no dynalite (`npm ci` in this directory) its tests are skipped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod site;
mod support;

mod conformance;
mod faults;
mod rows;
mod traffic;
