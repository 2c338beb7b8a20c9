//! The layers seen from outside: what a client gets, and what the inner service saw.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod support;

mod answers;
mod carriers;
mod conditional;
mod duplicates;
mod first;
mod forwarding;
mod refusals;
mod scopes;
mod signals;
mod withheld;
