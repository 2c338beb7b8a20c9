//! A service without a gateway whose processes take each other's requests: what belongs to another
//! commit is forwarded to a process of it.
//!
//! A balancer in front knows no sessions, so any process gets any request. Each has an
//! [`AffinityLayer`](crate::AffinityLayer) with the group that it is
//! ([`serving`](crate::AffinityBuilder::serving)); [`PeerForwardLayer`] is that layer with a
//! [`GroupBalance`] inside: it decides, serves what is decided for its own
//! group, and takes everything else to an endpoint of the group that was decided. The process that
//! the client has reached reads the pin, counts its session, and writes the pin.
//!
//! - A session without a pin is this process's own while its group is active: the balancer has drawn. So a
//!   canary of weight 1 % that is one of three processes begins a third of all sessions. With
//!   [`by_weight`](PeerForwardLayer::by_weight) they are drawn by the weights and forwarded: the shares are
//!   those of the rollout, and most sessions of a balancer that knows no weights take one hop more.
//! - If its group is not active (it drains, or was aborted), new sessions are drawn by the weights and
//!   forwarded, so that an aborted commit serves nobody, although the balancer still sends it requests. What
//!   has no session goes to the stable group then. So checks of the process's own health belong outside of
//!   this layer.
//! - An error of the balance becomes an answer as by [`RespondLayer`](crate::RespondLayer), such as
//!   503 `no-ready-endpoint`; the application's own error type stays.
//! - To the peer go the headers of [`GroupTagLayer`](crate::GroupTagLayer), after what the client sent
//!   under these names was removed, as it is before a local request too; fields of one connection end here, but for those of an upgrade;
//!   the address of whoever sent the request ([`PeerAddr`](crate::PeerAddr), if the server
//!   sets it) is added to `X-Forwarded-For`, which a local request does not get: an application that counts
//!   trusted entries from the right has one more there.
//! - Which groups are ready is told by the endpoints: a group of which none is known counts as down, and
//!   after ten seconds its sessions move. So the lists come before the first request.
//! - The group of the process needs no entry among the endpoints, and one does no harm.
//! - Level [`Endpoint`](crate::core::Level::Endpoint) is refused where the
//!   [`AffinityLayer`](crate::AffinityLayer) is built: a process that gets a request of its
//!   own group serves it, whatever endpoint the pin names.
//! - It stands around a whole router and not inside of a `nest`, which cuts the path.
//!
//! # One hop
//!
//! The request to the peer carries `affinity-hop`: what was decided, signed with a key that is derived
//! from the first of the ring, for this service, group and session. A process that gets a valid mark
//! serves the request as the mark says: it forwards nothing, reads no pin and writes none, and its
//! application finds the [`Affinity`](crate::Affinity) of the process that decided. If the mark names
//! another group than its own it answers 421 with our marker, and the sender asks another endpoint of
//! the group. So there is no cycle, whatever the processes think of the rollout. Any
//! [`AffinityLayer`](crate::AffinityLayer) with a group takes marks, also one that does not forward.
//!
//! A mark is good for a minute, by clocks that may differ by five
//! ([`HOP_LIFE`](crate::core::HOP_LIFE)). One that does not verify, has expired or came twice is
//! removed and counted (`affinity_hops_rejected_total`): a peer whose ring or clock is another has made
//! it, or a client has made it up. Such a request has had its hop. It is served if it shows a pin of
//! this process's group, and else answered 421, so that a peer tries another process. A mark for a
//! group that is known to be aborted here is answered 503 `state-behind`: the peer hears of it within a
//! second. Marks reach neither the application nor a client. Whoever could read one between two processes could, for
//! as long as it is good, have a request served by the commit that it names under the session that
//! it names, and nothing else: it opens nothing, and no pin is made of it.
//!
//! # Examples
//!
//! ```
//! use std::convert::Infallible;
//! use std::sync::Arc;
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tower::{Layer, service_fn};
//! use tower_affinity::balance::{BalanceBody, Endpoint, ReplayBody};
//! use tower_affinity::{AffinityLayer, Groups, PeerForwardLayer};
//!
//! # fn service(affinity: AffinityLayer) -> Result<(), Box<dyn std::error::Error>> {
//! // affinity: AffinityLayer::builder()….serving("9f1c2ab".parse()?).build()?
//! let peers = Groups::default();
//! peers.update(&"c3d4e5f".parse()?, ["10.0.0.7:3000".parse()?]);
//! let connect = |endpoint: &Arc<Endpoint>| {
//!     let address = endpoint.address();
//!     service_fn(move |_: Request<ReplayBody<Full<Bytes>>>| async move {
//!         // here goes the client that speaks to `address`
//!         Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(address.to_string())))
//!     })
//! };
//! let local = service_fn(|_: Request<Full<Bytes>>| async {
//!     Ok::<_, Infallible>(Response::new(BalanceBody::<Full<Bytes>>::from(Bytes::from("here"))))
//! });
//! let service = PeerForwardLayer::new(affinity, peers, connect)?.layer(local);
//! # fn is_service<S: tower::Service<Request<Full<Bytes>>, Error = Infallible>>(_: S) {}
//! # is_service(service); Ok(()) }
//! ```
//!
//! The local answers and those of peers have one body: whatever is `From<Bytes>` for answers that we
//! make and `From<BalanceBody<…>>` for those of peers. With the feature `axum`, axum's body is.
//!
//! Customised: around a router, where a timeout outside of it holds for forwarded requests too, and
//! nothing is sent twice.
//!
//! ```
//! # #[cfg(not(feature = "axum"))] fn main() {}
//! # #[cfg(feature = "axum")] fn main() {}
//! # #[cfg(feature = "axum")]
//! # mod example {
//! use axum::{Router, body::Body, routing::post};
//! use tower_affinity::balance::{Connect, ReplayBody, Retries};
//! # use tower_affinity::{AffinityLayer, BoxError, Groups, PeerForwardLayer};
//!
//! # fn app<C, R>(affinity: AffinityLayer, peers: Groups, connect: C)
//! # -> Result<Router, tower_affinity::peers::PeersError>
//! # where
//! #     C: Connect<ReplayBody<Body>> + Clone + Send + Sync + 'static,
//! #     C::Service: tower::Service<http::Request<ReplayBody<Body>>, Response = http::Response<R>>
//! #         + Send + 'static,
//! #     <C::Service as tower::Service<http::Request<ReplayBody<Body>>>>::Error: Into<BoxError>,
//! #     <C::Service as tower::Service<http::Request<ReplayBody<Body>>>>::Future: Send + 'static,
//! #     R: http_body::Body<Data = bytes::Bytes> + Send + 'static,
//! #     R::Error: Into<BoxError>,
//! # {
//! let peers = PeerForwardLayer::new(affinity, peers, connect)?.retries(Retries::none());
//! let app = Router::new().route("/step", post(async || "done")).layer(peers);
//! # Ok(app) } }
//! ```
//!
//! An upgraded connection needs the client of `connect` to hand both ends over; the example
//! `axum-service` of the repository shows it.
//!
//! A [`GroupMetricsLayer`](crate::GroupMetricsLayer) belongs *inside*, around the local service: so a
//! request is counted once, by the process that serves it.
//!
//! [`GroupBalance`]: crate::GroupBalance

#[cfg(feature = "axum")]
mod axum;
mod error;
mod future;
mod hops;
mod layer;
mod sending;
mod service;

pub use self::error::PeersError;
pub use self::future::ResponseFuture;
pub use self::layer::{PeerForwardLayer, PeerForwardService};
pub use self::service::PeerForward;
