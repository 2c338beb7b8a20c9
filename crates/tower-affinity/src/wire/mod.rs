//! The wire side of affinity: scopes, carriers and keys. [`PinLayer`] never waits and decides
//! nothing.
//!
//! On a request it finds the scope, opens what was sent as a pin, leaves a [`Presented`] for the
//! state side, and removes our cookie and header. On the answer it writes or clears the pin, if
//! the state side says so, and keeps shared caches from storing what belongs to one session.
//!
//! Alone, without an [`AssignLayer`](crate::AssignLayer) inside, it writes no pin.

mod cache;
mod future;
mod layer;
mod read;
mod scope;
mod service;
mod shared;
mod write;

pub use self::future::ResponseFuture;
pub use self::layer::PinLayer;
pub use self::read::Presented;
pub use self::scope::{AssignBy, CachePolicy, InvalidPath, PathPattern, Scope};
pub use self::service::PinService;
pub use self::write::WriteBack;
