//! Every change of a rollout: what it does, and what it refuses with which words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod abort;
mod compatible;
mod document;
mod drained;
mod histories;
mod lock;
mod memory;
mod shape;
mod validity;
mod verbs;
