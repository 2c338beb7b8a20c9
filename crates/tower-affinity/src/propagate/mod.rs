//! A session goes on to the services that a service calls.
//!
//! A request that is served by one service often has others called. [`PropagateLayer`] stands before
//! a client of theirs and takes along what belongs to the session: its pin (`affinity-pin`), the trace
//! that the request is part of (`traceparent`, `tracestate`) and its `baggage`. The service that is
//! called reads the pin as a key: see [`Callers`](crate::Callers). So a session meets one commit of
//! each service.
//!
//! Who serves the session says what goes along: in scopes with
//! [`propagate`](crate::wire::Scope::propagate) an [`AffinityLayer`](crate::AffinityLayer) leaves a
//! [`Propagation`] on each request. It is given to the requests to others,
//!
//! ```
//! # use http::Request;
//! use tower_affinity::Propagation;
//!
//! fn price_of(propagation: Propagation) -> Request<()> {
//!     let mut request = Request::get("http://price.internal/sum").body(()).unwrap();
//!     request.extensions_mut().insert(propagation);
//!     request
//! }
//! # price_of(Propagation::default());
//! ```
//!
//! to a client, which is any service of requests, as those of hyper-util and tonic are:
//!
//! ```
//! # use std::convert::Infallible;
//! # use http::{Request, Response};
//! use tower::{Layer, Service, service_fn};
//! use tower_affinity::PropagateLayer;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
//! let layer = PropagateLayer::new().only_to(["price.internal", "stock.internal:8443"])?;
//! let mut client = layer.layer(client);
//! # client.call(Request::get("http://price.internal/sum").body(())?).await?;
//! # Ok(()) }
//! ```
//!
//! **A pin is not for third parties**: who holds it is that session to the service that has signed it.
//! Wrap only clients of one's own services, or name these with
//! [`only_to`](PropagateLayer::only_to). A client that follows redirects by itself, inside of the layer,
//! takes headers along to wherever it is led: have it not follow them.
//!
//! A client of another kind writes the same on its headers. A middleware of `reqwest-middleware`, whose
//! headers are those of `http`, has to do no more than this in its `handle`, before `next.run` and
//! after it:
//!
//! ```
//! use http::HeaderMap;
//! use tower_affinity::Propagation;
//!
//! fn before(session: &Propagation, request: &mut HeaderMap) {
//!     session.apply(request);
//! }
//!
//! fn after(answer: &mut HeaderMap) {
//!     // the other service's own pin is not for our client
//!     answer.remove("affinity-pin");
//! }
//! # let (mut request, mut answer) = (HeaderMap::new(), HeaderMap::new());
//! # before(&Propagation::default(), &mut request);
//! # after(&mut answer);
//! ```
//!
//! With the feature `tokio`, a `PropagateScopeLayer` inside of the affinity layer makes the context
//! that of the task that answers, and clients find it there without being given it. What is spawned is
//! another task and has none; `Propagation::scope` gives it one. A body that is made while it is sent
//! is outside of the scope as well.
//!
//! # Bounds
//!
//! What is handed on is bounded as W3C says: one `traceparent` that is one; a `tracestate` of at most
//! 512 bytes and 32 members; baggage of at most 8,192 bytes and 64 members. What is more is dropped,
//! whole or by member from the right, and counted (`affinity_propagation_dropped_total`); it is never
//! an error.
//!
//! # What the other service answers
//!
//! Its answer may carry its own pin of the session in `affinity-pin`. The layer removes that, so that
//! an answer which is passed on brings no foreign pin to the client.
//!
//! # The pin is that of this moment
//!
//! The endpoint gets the pin that its answer will carry. What it then says can still change the pin:
//! the end of the session, a move that was seen, an outcome, a release, a stream; and its commit can
//! be aborted meanwhile. Then the answer's pin is sealed anew, or not written, and the one that was
//! handed on was the truth of its moment. Its session is the same, and so is the key.

mod baggage;
mod bounded;
mod context;
mod current;
mod destinations;
mod future;
mod layer;
#[cfg(feature = "tokio")]
mod scope;
mod service;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use self::context::ForEndpoint;
pub use self::context::Propagation;
pub use self::destinations::InvalidDestination;
pub use self::future::ResponseFuture;
pub use self::layer::PropagateLayer;
#[cfg(feature = "tokio")]
pub use self::scope::{PropagateScope, PropagateScopeLayer, ScopeFuture};
pub use self::service::Propagate;
