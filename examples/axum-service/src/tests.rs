//! What a client and a handler see, through the whole Router.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod client;
mod connection;
mod flow;
mod peers;
mod probe;
mod rollback;
mod serving;
