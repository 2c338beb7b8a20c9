//! Where the store's source finds what it does in its crate.

pub(crate) use tower_affinity_core::*;

pub(crate) mod sync;

#[path = "../../../crates/tower-affinity-core/src/store/memory/mod.rs"]
pub(crate) mod memory;
