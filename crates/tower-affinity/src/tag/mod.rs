//! Names the group, the session and the decision to the endpoint.
//!
//! On a request [`GroupTagLayer`] removes every header that a client sent under our names (all
//! that begin with `affinity-`, and their twins with another sign for the hyphen, such as an
//! underscore, which some servers take for the same) and sets ours once, from the [`Affinity`](crate::Affinity) of the request:
//!
//! - `affinity-group: NAME`
//! - `affinity-session: ID`, where there is a session
//! - `affinity-decision: DECISION; cause=CAUSE`
//! - `affinity-moved-from: NAME; at=UNIX; cause=CAUSE`, until the application has seen the move
//! - `affinity-pin: TOKEN`, in scopes that [propagate](crate::wire::Scope::propagate)
//! - `affinity-arms: EXPERIMENT=ARM, …`, where the session has [arms](crate::experiments)
//!
//! From an answer it removes what an endpoint sent under our names, but `affinity-session` and
//! `affinity-outcome`, which a [`SignalLayer`](crate::SignalLayer) outside reads, and
//! `affinity-pin`, which a [`PinLayer`](crate::PinLayer) outside removes and counts.
//!
//! Alone, without an [`AssignLayer`](crate::AssignLayer) outside, it only removes. Trailers come
//! with the bodies, which it does not touch: whoever forwards trailers keeps our names out of them
//! with [`is_ours`].
//!
//! ```
//! use http::{Request, Response};
//! use tower::{Layer, Service, service_fn};
//! use tower_affinity::GroupTagLayer;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let endpoint = service_fn(|request: Request<()>| async move {
//!     assert!(request.headers().is_empty());
//!     Ok::<_, std::convert::Infallible>(Response::new(()))
//! });
//! let request = Request::get("/").header("affinity-group", "forged").body(()).unwrap();
//! GroupTagLayer::new().layer(endpoint).call(request).await.unwrap();
//! # }
//! ```
//!
//! It has nothing to set. In a stack it stands inside of the layer that decides:
//!
//! ```
//! # use tower_affinity::AffinityLayer;
//! # fn stack(affinity: AffinityLayer) {
//! use tower::ServiceBuilder;
//! use tower_affinity::GroupTagLayer;
//!
//! let stack = ServiceBuilder::new().layer(affinity).layer(GroupTagLayer::new());
//! # let _ = stack; }
//! ```

mod future;
mod names;
mod service;
mod tell;
#[cfg(test)]
mod tests;

use tower_layer::Layer;

pub use self::future::ResponseFuture;
pub use self::names::is_ours;
pub(crate) use self::names::{
    ARMS, DECISION, GROUP, MOVED_FROM, SESSION, correct, remove_answered, remove_spoofed,
};
pub use self::service::GroupTag;
pub(crate) use self::tell::tell;
use crate::misplaced::Misplaced;

/// Names the group to the endpoint and removes spoofed names; see the [module](self).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct GroupTagLayer {
    misplaced: Misplaced,
}

impl GroupTagLayer {
    /// The layer.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> Layer<S> for GroupTagLayer {
    type Service = GroupTag<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GroupTag::new(inner, self.misplaced.clone())
    }
}
