//! What a client and an endpoint see, through the whole stack and real connections.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod bare;
mod fallback;
mod site;
