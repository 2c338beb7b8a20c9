//! The layers seen from outside: what a client gets, and what the inner service saw.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod support;

mod aborts;
mod answers;
mod behind;
mod building;
mod caches;
mod callers;
mod carriers;
mod compositions;
mod conditional;
mod displaced;
mod drained;
mod duplicates;
mod ed25519;
mod endpoints;
mod experiments;
mod fail_open;
mod first;
mod forwarding;
mod hints;
mod keyed;
mod lost;
mod manners;
mod navigation;
mod overrides;
mod patience;
mod peers;
mod propagation;
mod refusals;
mod replay;
mod replicas;
mod required;
mod rotation;
mod scopes;
mod secrets;
mod serving;
mod signals;
mod stored;
mod versions;
mod weights;
mod withheld;

#[cfg(feature = "axum")]
mod extractors;
#[cfg(feature = "tokio")]
mod files;
#[cfg(feature = "axum")]
mod local;
#[cfg(feature = "axum")]
mod routers;
#[cfg(feature = "tokio")]
mod shared;
