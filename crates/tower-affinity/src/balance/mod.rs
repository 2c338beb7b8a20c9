//! The leaf: takes a request to an endpoint of the group that was decided.
//!
//! [`GroupBalance`] is always ready, since a request's group is known only with the request. It
//! takes the group from the [`Affinity`](crate::Affinity) of the request, picks one of the group's
//! ready endpoints in [`Groups`] by the power of two choices on requests in flight, and gives the
//! request to the service that [`Connect`] makes for the endpoint. It never serves another group:
//! a group without a ready endpoint is a typed error at once, not a wait.
//!
//! A request is in flight until its answer's body ends, breaks or is dropped, or until the last
//! clone of its [`Lease`] is dropped: the lease is an extension of the request, and whoever
//! tunnels an upgraded connection keeps a clone for as long as the tunnel runs.
//!
//! If fewer than half of a group's endpoints are healthy, their health is ignored *inside the
//! group* (a panic: checks that fail so widely are rather wrong than right). A group without any
//! healthy endpoint is tried only while more than half of all groups are so; else it has no ready
//! endpoint.
//!
//! An endpoint that could not be reached (the leaf says
//! [`UpstreamFault::Connect`](crate::respond::UpstreamFault)), that serves another group, or that
//! failed five times in a row (it timed out, broke off, or answered 502, 503 or 504) is *ejected*:
//! for a second, longer after each further failure. Then one request tries it. Failures alone never
//! eject more than half of a group, and where all of a group are ejected all are tried.
//! [`Balancing`] sets all of this, and limits, slow starts and the choice by latency.
//!
//! A session of level [`Endpoint`](tower_affinity_core::Level::Endpoint) goes to the endpoint that
//! its pin names, also while that is draining; if it cannot, to the one that is the first for the
//! session's key, so that parallel requests meet. Its answers carry [`ServedBy`](crate::ServedBy). A
//! named endpoint that is full is not left: the request fails with [`Unserved::Capacity`].
//!
//! # Further attempts
//!
//! A request that brought no answer is sent to another endpoint *of its group* if that does no
//! harm, at most twice and out of a budget (see [`Retries`]):
//!
//! - no endpoint has seen anything of it
//!   ([`Connect`](crate::respond::UpstreamFault::Connect),
//!   [`Unsent`](crate::respond::UpstreamFault::Unsent)), whatever its method;
//! - or the exchange broke or timed out before the answer
//!   ([`Closed`](crate::respond::UpstreamFault::Closed),
//!   [`Timeout`](crate::respond::UpstreamFault::Timeout)), its method is idempotent, it asks for no
//!   upgrade, and its body can be sent again ([`ReplayBody`]);
//! - or the endpoint says that it serves another group, so nothing was carried out, and the body
//!   can be sent again.
//!
//! A session that is bound to an endpoint leaves it only if it was not reached or serves another
//! group; else the request is sent there again. Where it has left, the endpoint that is asked instead
//! is told `endpoint_lost`, and the session stays with the one that answers.
//!
//! What else a leaf fails with is answered at once, and what an endpoint answers is passed on,
//! errors too. Before each attempt the newest rollout is asked whether the group was aborted
//! ([`GroupBalance::rollouts`]). The error of the last attempt is answered; but if that reached
//! nobody, and every endpoint of the group was tried, is ejected or fails its checks, the group has
//! no ready endpoint ([`Unserved::NoReadyEndpoint`]). A further attempt
//! carries [`Again`] among its extensions, so that a leaf can keep to the time that is left.
//!
//! A leaf gets the body as a [`ReplayBody`]. One that is not empty costs an allocation and is kept
//! up to a limit; the fields of the head are copied in one piece, and its extensions are cloned
//! unless [`Connect::attempt`] does with less. Without retries ([`Retries::none`]) nothing of it is done.
//!
//! # Examples
//!
//! Alone, without an [`AssignLayer`](crate::AssignLayer) outside, every request fails with
//! [`Unserved::NoDecision`].
//!
//! ```
//! use std::convert::Infallible;
//! use std::sync::Arc;
//! use http::{Request, Response};
//! use http_body_util::{Empty, Full};
//! use bytes::Bytes;
//! use tower_affinity::balance::{Endpoint, GroupBalance, Groups, ReplayBody};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let groups = Groups::default();
//! groups.update(&"9f1c2ab".parse()?, ["127.0.0.1:7001".parse()?, "127.0.0.1:7002".parse()?]);
//! let connect = |endpoint: &Arc<Endpoint>| {
//!     let address = endpoint.address();
//!     tower::service_fn(move |_: Request<ReplayBody<Empty<Bytes>>>| async move {
//!         // here goes the client that speaks to `address`
//!         Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(address.to_string())))
//!     })
//! };
//! let leaf = GroupBalance::new(groups, connect);
//! # let _ = leaf; Ok(()) }
//! ```
//!
//! Customised: a limit for the group, an endpoint that is about to leave, fewer retries, and a recorder.
//!
//! ```
//! # use std::sync::Arc;
//! # use tower_affinity::balance::{Endpoint, GroupBalance, Groups};
//! use tower_affinity::balance::{EndpointState, Retries, Source};
//! use tower_affinity::record::Recorder;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # fn connect(_: &Arc<Endpoint>) {}
//! let (group, address) = ("9f1c2ab".parse()?, "127.0.0.1:7001".parse()?);
//! let groups = Groups::default();
//! groups.update(&group, [address, "127.0.0.1:7002".parse()?]);
//! groups.limit(&group, Some(512));
//! groups.report(&group, address, Source::Control, EndpointState::Draining);
//! let leaf = GroupBalance::new(groups, connect)
//!     .retries(Retries::new().max(1).max_body(16 * 1024))
//!     .recorder(Recorder::default());
//! # let _ = leaf; Ok(()) }
//! ```

mod attempt;
mod balancing;
mod body;
mod bound;
mod budget;
mod connect;
mod cut;
mod doubt;
mod ejection;
mod endpoint;
mod error;
mod further;
mod future;
mod group;
mod groups;
mod head;
mod kept;
mod latency;
mod lease;
mod open;
mod outcome;
mod pick;
mod pressure;
mod readiness;
mod replay;
mod retries;
mod retry;
mod service;
mod settings;
mod switch;
#[cfg(test)]
mod tests;
mod trailers;
mod tunnelled;
mod wanted;

pub use self::balancing::{Balancing, Choice, EjectionPolicy};
pub use self::body::BalanceBody;
pub use self::connect::Connect;
pub use self::cut::{Cut, StreamCut};
pub use self::ejection::EjectionReason;
pub use self::endpoint::{Endpoint, EndpointState, Source};
pub use self::error::{Error, Unserved};
pub use self::future::ResponseFuture;
#[cfg(feature = "tokio")]
pub(crate) use self::groups::WeakGroups;
pub use self::groups::{Groups, Update};
pub use self::lease::Lease;
pub use self::open::OpenStream;
pub use self::readiness::Healthy;
pub use self::replay::{ReplayBody, Superseded};
pub use self::retries::Retries;
pub use self::retry::Again;
pub use self::service::GroupBalance;
pub use self::tunnelled::Tunnelled;
pub(crate) use self::tunnelled::is_tunnel;
#[cfg(test)]
pub(crate) use self::wanted::Wanted;
