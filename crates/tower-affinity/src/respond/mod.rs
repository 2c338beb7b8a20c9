//! Typed errors become answers: outside of [`RespondLayer`] nothing can fail, so the stack fits
//! where only an infallible service does, as in a router's fallback.
//!
//! It looks through an error and its sources for what it knows: [`Unserved`] of the balancer and
//! [`UpstreamFault`], which a leaf puts into its errors. The answers are problem details
//! ([`Problem`]) and tell nothing of the inside, such as addresses:
//!
//! | error | status | `type` |
//! | --- | --- | --- |
//! | [`Unserved::NoReadyEndpoint`] | 503 | `no-ready-endpoint` |
//! | [`Unserved::Capacity`] | 503 | `capacity` |
//! | [`Unserved::WrongGroup`] | 503 | `wrong-group` |
//! | [`Unserved::NoDecision`] | 500 | `about:blank` |
//! | [`UpstreamFault::Timeout`] | 504 | `upstream-timeout` |
//! | [`UpstreamFault::RequestBody`] | 400 | `bad-request` |
//! | any other | 502 | `upstream-error` |
//!
//! Alone it does the same for any service whose answers can carry bytes of ours.
//!
//! ```
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use bytes::Bytes;
//! use tower::{Layer, Service, service_fn};
//! use tower_affinity::RespondLayer;
//! use tower_affinity::respond::UpstreamFault;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let silent = service_fn(|_: Request<()>| async {
//!     Err::<Response<Full<Bytes>>, _>(UpstreamFault::Timeout)
//! });
//! let answer = RespondLayer::new().layer(silent).call(Request::new(())).await.unwrap();
//! assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
//! # }
//! ```
//!
//! Customised: errors of other layers, which would be 502, are answered by what they mean.
//!
//! ```
//! use tower::load_shed::error::Overloaded;
//! use tower::timeout::error::Elapsed;
//! use tower_affinity::{Problem, RespondLayer};
//!
//! let layer = RespondLayer::new().problems(|error| {
//!     if error.is::<Overloaded>() {
//!         Some(Problem::Overloaded) // 503 with Retry-After
//!     } else if error.is::<Elapsed>() {
//!         Some(Problem::UpstreamTimeout) // 504
//!     } else {
//!         None
//!     }
//! });
//! # let _ = layer;
//! ```
//!
//! A leaf says the same by the errors that it gives:
//!
//! ```
//! use tower_affinity::respond::UpstreamFault;
//!
//! #[derive(Debug, thiserror::Error)]
//! #[error("no connection to the endpoint")]
//! struct NoConnection(#[source] UpstreamFault);
//!
//! let error = NoConnection(UpstreamFault::Connect); // answered 502
//! # let _ = error;
//! ```
//!
//! [`Unserved`]: crate::balance::Unserved
//! [`Unserved::NoReadyEndpoint`]: crate::balance::Unserved::NoReadyEndpoint
//! [`Unserved::Capacity`]: crate::balance::Unserved::Capacity
//! [`Unserved::WrongGroup`]: crate::balance::Unserved::WrongGroup
//! [`Unserved::NoDecision`]: crate::balance::Unserved::NoDecision

mod answer;
mod fault;
mod future;
mod service;
#[cfg(test)]
mod tests;

use std::error::Error;

use tower_layer::Layer;

pub(crate) use self::answer::{Answer, Foreign};
pub use self::fault::UpstreamFault;
pub use self::future::ResponseFuture;
pub use self::service::Respond;
use crate::Problem;

/// Turns errors into answers; see the [module](self).
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RespondLayer {
    foreign: Foreign,
}

impl RespondLayer {
    /// The layer.
    pub fn new() -> Self {
        Self { foreign: |_| None }
    }

    /// What is answered for an error that is none of ours, such as those of tower's limits; by default
    /// nothing is known of them. It is asked of an error first and then of each of its sources.
    pub fn problems(self, foreign: fn(&(dyn Error + 'static)) -> Option<Problem>) -> Self {
        Self { foreign }
    }
}

impl Default for RespondLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for RespondLayer {
    type Service = Respond<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Respond::new(inner, self.foreign)
    }
}
