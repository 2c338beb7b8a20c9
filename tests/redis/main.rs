//! The store in Redis against real servers, which the tests start on loopback. Where there is no
//! `redis-server` they are skipped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod support;

mod conformance;
mod faults;
mod measure;
mod outages;
mod rows;
mod traffic;
