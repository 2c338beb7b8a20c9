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
//! [`UpstreamFault::Connect`](crate::respond::UpstreamFault)) rests for a second, longer after each
//! further failure, while its group has others.
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
//! use tower_affinity::balance::{Endpoint, GroupBalance, Groups};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let groups = Groups::default();
//! groups.update(&"9f1c2ab".parse()?, ["127.0.0.1:7001".parse()?, "127.0.0.1:7002".parse()?]);
//! let connect = |endpoint: &Arc<Endpoint>| {
//!     let address = endpoint.address();
//!     tower::service_fn(move |_: Request<Empty<Bytes>>| async move {
//!         // here goes the client that speaks to `address`
//!         Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(address.to_string())))
//!     })
//! };
//! let leaf = GroupBalance::new(groups, connect);
//! # let _ = leaf; Ok(()) }
//! ```
//!
//! Customised: a limit for the group, an endpoint that is about to leave, and a recorder.
//!
//! ```
//! # use std::sync::Arc;
//! # use tower_affinity::balance::{Endpoint, GroupBalance, Groups};
//! use tower_affinity::balance::{EndpointState, Source};
//! use tower_affinity::record::Recorder;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # fn connect(_: &Arc<Endpoint>) {}
//! let (group, address) = ("9f1c2ab".parse()?, "127.0.0.1:7001".parse()?);
//! let groups = Groups::default();
//! groups.update(&group, [address, "127.0.0.1:7002".parse()?]);
//! groups.limit(&group, Some(512));
//! groups.report(&group, address, Source::Control, EndpointState::Draining);
//! let leaf = GroupBalance::new(groups, connect).recorder(Recorder::default());
//! # let _ = leaf; Ok(()) }
//! ```

mod body;
mod connect;
mod cut;
mod endpoint;
mod error;
mod future;
mod group;
mod groups;
mod lease;
mod open;
mod outcome;
mod pick;
mod rest;
mod service;
mod switch;
#[cfg(test)]
mod tests;
mod wanted;

pub use self::body::BalanceBody;
pub use self::connect::Connect;
pub use self::cut::{Cut, StreamCut};
pub use self::endpoint::{Endpoint, EndpointState, Source};
pub use self::error::{Error, Unserved};
pub use self::future::ResponseFuture;
pub use self::groups::{Groups, Healthy, Update};
pub use self::lease::Lease;
pub use self::open::OpenStream;
pub use self::service::GroupBalance;
#[cfg(test)]
pub(crate) use self::wanted::Wanted;
