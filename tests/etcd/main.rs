//! Several gateways over one real etcd, seen from outside. Where there is no etcd the stories are
//! skipped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod support;

mod aborts;
mod behind;
mod clocks;
mod drained;
mod joining;
mod keys;
mod outages;
mod restored;
