//! The harness of the end-to-end stories: real endpoints, real clients, real gateways.
//!
//! Endpoints and clients each keep a ledger. Joined, they show what was lost, doubled, served by
//! the wrong group, or moved.
//!
//! A harness is test code: it fails by panicking, with a message that names the cause.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

// What is behind the gateway.
pub mod dns;
pub mod endpoint;
pub mod fleet;
pub mod pod;
pub mod proxy;

// What is in front of it.
pub mod bare;
pub mod client;
pub mod http2;
pub mod jar;
pub mod load;
pub mod raw;
pub mod steady;
pub mod tls;

// The gateway itself, and its operator.
pub mod admin;
pub mod config;
pub mod process;
pub mod replica;

// A stack of layers without a gateway.
pub mod day;

// What is known afterwards.
pub mod history;
pub mod joined;
pub mod samples;

mod scratch;
mod wait;

pub use scratch::Scratch;
pub use wait::{BOUND, LOAD_BOUND, until, until_within};
