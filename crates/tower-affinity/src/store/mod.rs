//! Stored assignments in a stack: [`GuardedStore`] keeps a store that is slow or away from harming
//! anybody.
//!
//! A store is optional: without one, clients alone keep their assignments. With one, give it to
//! [`AffinityBuilder::store`](crate::AffinityBuilder::store):
//!
//! ```
//! use std::sync::Arc;
//! use tower_affinity::core::PinStore;
//! use tower_affinity::store::{GuardedStore, Timer};
//!
//! fn guarded(store: Arc<dyn PinStore>, timer: impl Timer) -> GuardedStore {
//!     GuardedStore::new(store, timer)
//! }
//! ```

mod guard;
#[cfg(test)]
mod tests;
mod timer;

pub use self::guard::{GuardedStore, PATIENCE};
pub use self::timer::{Sleep, Timer};
