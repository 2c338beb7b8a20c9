//! Typed errors become answers: outside of [`RespondLayer`] nothing can fail, so the stack fits
//! where only an infallible service does, as in a router's fallback.
//!
//! It looks through an error and its sources for what it knows: [`Unserved`] of the balancer and
//! [`UpstreamFault`], which a leaf puts into its errors. The answers are problem details
//! ([`Problem`](crate::Problem)) and tell nothing of the inside, such as addresses:
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
//! It has nothing to set; a leaf customises the answers by the errors that it gives:
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

use tower_layer::Layer;

pub(crate) use self::answer::Answer;
pub use self::fault::UpstreamFault;
pub use self::future::ResponseFuture;
pub use self::service::Respond;

/// Turns errors into answers; see the [module](self).
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct RespondLayer(());

impl RespondLayer {
    /// The layer.
    pub fn new() -> Self {
        Self(())
    }
}

impl<S> Layer<S> for RespondLayer {
    type Service = Respond<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Respond::new(inner)
    }
}
