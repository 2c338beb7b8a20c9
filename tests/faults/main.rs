//! Fault after fault, under load: what is injected, and what must hold meanwhile and afterwards.
//!
//! Each test is one fault of the table in `docs/testing.md`. Clients and pods keep ledgers; the
//! counts that must be zero are exact. `AFFINITY_FAULTS=full` runs the long form.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod harness;
mod scale;
mod stage;

// One pod.
mod bodies;
mod hangs;
mod killed;
mod leaving;

// A whole group.
mod dead_groups;
mod errors;
mod health;
mod overload;

// What the gateway is told.
mod discovery;
mod identity;

// Clients that take more than their share.
mod bombs;
mod exhaustion;
