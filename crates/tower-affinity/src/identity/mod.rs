//! The endpoint's side of affinity: a request that was meant for another group never reaches the
//! application.
//!
//! Addresses are used again. While a list of endpoints is a moment old, a request can reach a
//! process of another commit than the session's. The sender names the group that it means in the
//! header `affinity-group` (see [`GroupTagLayer`](crate::GroupTagLayer)); [`GroupIdentityLayer`]
//! answers 421 with `affinity-misdirected: 1` if that is not the group of this process, before the
//! application is called and without reading the body. [`GroupBalance`](crate::GroupBalance) then
//! tries another endpoint, since nothing was carried out.
//!
//! Requests without the header pass: health checks and direct calls are meant for whoever is here.
//! A header with several values, or with one that is no group's name, is refused, because nobody
//! can say what it means.
//!
//! ```
//! use axum::{Router, routing::post};
//! use tower_affinity::GroupIdentityLayer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app: Router = Router::new()
//!     .route("/step", post(async || "done"))
//!     .layer(GroupIdentityLayer::new("9f1c2ab".parse()?)); // the last layer is the outermost
//! # let _ = app; Ok(()) }
//! ```
//!
//! Customised: the name comes from the environment, or was stamped into the binary when it was
//! built (`AFFINITY_GROUP=$(git rev-parse --short HEAD) cargo build`), and refusals are counted by
//! a recorder of one's own.
//!
//! ```
//! use tower_affinity::GroupIdentityLayer;
//! use tower_affinity::record::Recorder;
//!
//! # fn main() -> Result<(), tower_affinity::identity::IdentityError> {
//! let identity = GroupIdentityLayer::stamped(option_env!("AFFINITY_GROUP"))
//!     .or_else(|_| GroupIdentityLayer::from_env("AFFINITY_GROUP"));
//! # let identity = identity.or_else(|_| GroupIdentityLayer::stamped(Some("9f1c2ab")));
//! let identity = identity?.recorder(Recorder::default());
//! # let _ = identity; Ok(()) }
//! ```

mod error;
mod future;
mod layer;
mod service;
#[cfg(test)]
mod tests;

pub use self::error::IdentityError;
pub use self::future::ResponseFuture;
pub use self::layer::GroupIdentityLayer;
pub use self::service::GroupIdentity;
