//! Routes that one group alone may serve.
//!
//! A new commit can have a route that the old one has not. A process that holds the code of both (an
//! [`AffinityLayer`](crate::AffinityLayer) without `serving`) keeps sessions of the old commit from it
//! by [`RequireGroupLayer`]: a request that was decided for another group is answered 421 before the
//! handler runs and without reading the body, and is counted in `affinity_misdirected_total`.
//!
//! The answer has no `affinity-misdirected`: that says of a *process* that it is of another commit, and
//! whoever balances would leave it and try its neighbours, which would all answer the same.
//!
//! Alone, without a layer outside that decides, it answers 500: nobody knows what was meant. A process
//! that is one commit and has a gateway in front takes a
//! [`GroupIdentityLayer`](crate::GroupIdentityLayer) instead, which reads what the gateway says.
//!
//! ```
//! use axum::{Router, routing::post};
//! use tower_affinity::AffinityLayer;
//! use tower_affinity::require::RequireGroupLayer;
//!
//! # fn app(affinity: AffinityLayer) -> Result<Router, Box<dyn std::error::Error>> {
//! let only_new = RequireGroupLayer::new("c3d4e5f".parse()?);
//! let app = Router::new()
//!     .route("/new-step", post(async || "done"))
//!     .route_layer(only_new) // the routes so far, and no other
//!     .route("/step", post(async || "done"))
//!     .layer(affinity);
//! # Ok(app) }
//! ```
//!
//! Customised: refusals are counted by a recorder of one's own.
//!
//! ```
//! use tower_affinity::record::Recorder;
//! use tower_affinity::require::RequireGroupLayer;
//!
//! # fn layer(recorder: &Recorder) -> Result<RequireGroupLayer, Box<dyn std::error::Error>> {
//! let only_new = RequireGroupLayer::new("c3d4e5f".parse()?).recorder(recorder.clone());
//! # Ok(only_new) }
//! ```

mod future;
mod layer;
mod service;

pub use self::future::ResponseFuture;
pub use self::layer::RequireGroupLayer;
pub use self::service::RequireGroupService;
