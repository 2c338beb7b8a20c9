//! The state side of affinity: asks the rule and settles what the answer does to the pin.
//! [`AssignLayer`] sees no carrier.
//!
//! On a request it takes the [`Presented`](crate::wire::Presented) that the wire side left, reads
//! the rollout once, decides, and leaves an [`Affinity`](crate::Affinity) for everything inside.
//! What is refused is answered here. A pin that only a newer state can tell of waits for that state
//! (see [`Rollouts`](crate::Rollouts)); nothing else waits. On the answer it looks at the newest rollout once more
//! ("aborted by now?") and leaves a [`WriteBack`](crate::wire::WriteBack) for the wire side.
//!
//! Alone, without a [`PinLayer`](crate::PinLayer) outside, it takes every request for a new one.
//!
//! ```
//! use std::sync::Arc;
//! use tower::ServiceBuilder;
//! use tower_affinity::core::PinCodec;
//! use tower_affinity::{AssignLayer, PinLayer, Rollouts};
//!
//! # fn stack(rollouts: Rollouts, codec: Arc<PinCodec>) -> Result<(), Box<dyn std::error::Error>> {
//! let stack = ServiceBuilder::new()
//!     .layer(PinLayer::new(Arc::clone(&codec)))
//!     .layer(AssignLayer::new(rollouts, codec)?);
//! # let _ = stack; Ok(()) }
//! ```
//!
//! Customised: the endpoints that a balancer knows decide what is ready.
//!
//! ```
//! # use std::sync::Arc;
//! # use tower_affinity::core::PinCodec;
//! # use tower_affinity::{AssignLayer, Rollouts};
//! use tower_affinity::Groups;
//!
//! # fn layer(rollouts: Rollouts, codec: Arc<PinCodec>) -> Result<(), Box<dyn std::error::Error>> {
//! let groups = Groups::default();
//! let layer = AssignLayer::new(rollouts, codec)?.readiness(Arc::new(groups.clone()));
//! # let _ = layer; Ok(()) }
//! ```

mod endpoints;
mod future;
mod hand_on;
mod here;
mod hop;
mod layer;
mod question;
mod refuse;
mod service;
mod settle;
mod state;
mod stored;

pub use self::future::ResponseFuture;
pub(crate) use self::hop::FromPeer;
pub use self::layer::AssignLayer;
pub use self::service::Assign;
