//! What is refused before anything is decided: requests that no endpoint should have to read.
//!
//! [`EdgeLayer`] is the outermost layer. It answers by itself, as `application/problem+json`, or
//! passes the request on untouched. It also counts what is in flight, and refuses what is too much
//! for all groups together. Without it the inner layers still work, but a request can
//! then be ambiguous (two hosts, two lengths) or name fields as hop-by-hop that it needs.
//!
//! With its defaults:
//!
//! ```
//! use std::convert::Infallible;
//!
//! use affinity_gateway::edge::EdgeLayer;
//! use axum::body::Body;
//! use http::{Request, Response, StatusCode};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Infallible> {
//! let service = ServiceBuilder::new().layer(EdgeLayer::new()).service_fn(
//!     |_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Body::from("served"))) },
//! );
//! let mut request = Request::new(Body::empty());
//! *request.method_mut() = http::Method::TRACE;
//! let answer = service.oneshot(request).await?;
//! assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
//! # Ok(())
//! # }
//! ```
//!
//! With a longer target allowed, and refusals counted:
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use affinity_gateway::edge::EdgeLayer;
//! use http::StatusCode;
//!
//! static REFUSED: AtomicU64 = AtomicU64::new(0);
//!
//! let layer = EdgeLayer::new().max_target(16 * 1024).recorder(|_status: StatusCode| {
//!     REFUSED.fetch_add(1, Ordering::Relaxed);
//! });
//! # drop(layer);
//! ```

mod body;
mod check;
mod future;
mod layer;
mod refusal;
mod requests;
mod service;

#[cfg(test)]
mod tests;

pub(crate) use self::refusal::Refusal;
pub use self::{
    body::EdgeBody,
    future::ResponseFuture,
    layer::{EarlyRecorder, EdgeLayer},
    requests::Requests,
    service::Edge,
};
