//! The state side of affinity: asks the rule and settles what the answer does to the pin.
//! [`AssignLayer`] sees no carrier.
//!
//! On a request it takes the [`Presented`](crate::wire::Presented) that the wire side left, reads
//! the rollout once, decides, and leaves an [`Affinity`](crate::Affinity) for everything inside.
//! What is refused is answered here. On the answer it looks at the newest rollout once more
//! ("aborted by now?") and leaves a [`WriteBack`](crate::wire::WriteBack) for the wire side.
//!
//! Alone, without a [`PinLayer`](crate::PinLayer) outside, it takes every request for a new one.

mod future;
mod layer;
mod refuse;
mod service;
mod settle;
mod state;

pub use self::future::ResponseFuture;
pub use self::layer::AssignLayer;
pub(crate) use self::refuse::MISDIRECTED;
pub use self::service::Assign;
