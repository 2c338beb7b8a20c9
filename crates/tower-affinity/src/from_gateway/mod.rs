//! For a service *behind* a gateway of ours: what the gateway has decided, as if it had been decided here.
//!
//! [`FromGatewayLayer`] makes the [`Affinity`](crate::Affinity) of a request from the headers that a
//! gateway sets (`affinity-group`, `affinity-session`, `affinity-decision`, `affinity-moved-from`), so that
//! a handler works behind a gateway as it does under an [`AffinityLayer`](crate::AffinityLayer). It makes no
//! session, sets no cookie and issues no pin. What a handler says by a [`Signal`](crate::signal::Signal) or
//! an [`Outcome`](crate::signal::Outcome) is written as the headers that the gateway reads.
//!
//! Headers count only from a peer that is trusted ([`Trust`](crate::Trust)). From anybody else all names of ours are
//! removed, with their twins that have another sign for the hyphen, and there is no `Affinity`: an extractor
//! `Option<Affinity>` gives `None`. The same becomes of headers of a trusted peer that are malformed, that
//! came more than once, or that contradict each other; this is counted
//! (`affinity_told_rejected_total{cause}`) and the first one of each cause is logged. No request is refused
//! for it.
//!
//! A handler that takes `Affinity` without the `Option` answers such a request by 500, as it does without
//! any layer: take the `Option` wherever somebody else than a gateway can call.
//!
//! In scopes with `propagate = true` the gateway sends the session's pin, and the request has a
//! [`Propagation`](crate::Propagation) for calls further down.
//!
//! In [`LocalSessions`](crate::LocalSessions) a session has one place; the first request that is told as
//! moved here, or as `endpoint_lost`, finds it empty if it asks for it. So ask for it in every handler that
//! a session can come back to. With a verifier the pin counts the moves, and nothing depends on that.
//!
//! The arms of its [experiments](crate::experiments), which a gateway tells in `affinity-arms`, are
//! [`Arms`](crate::Arms) here as well.
//!
//! What a gateway does not tell is open in [`Affinity::decision`](crate::Affinity::decision); see
//! [`Decision::told`](crate::core::Decision::told).
//!
//! ```
//! # #[cfg(not(feature = "axum"))] fn main() {}
//! # #[cfg(feature = "axum")] fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use axum::{Router, routing::post};
//! use tower_affinity::{Affinity, FromGatewayLayer, Trust};
//!
//! async fn step(affinity: Option<Affinity>) -> String {
//!     match affinity {
//!         Some(affinity) => format!("served by {}", affinity.group()),
//!         None => "called by somebody else".to_owned(),
//!     }
//! }
//!
//! let gateways = Trust::Peers(vec!["10.0.7.0/24".parse()?]);
//! let app: Router = Router::new()
//!     .route("/step", post(step))
//!     .layer(FromGatewayLayer::new(gateways)); // and outside of it what sets `PeerAddr`
//! # let _ = app; Ok(()) }
//! ```
//!
//! Customised: the gateways are not believed by their address alone. In scopes with `propagate = true` they
//! send the pin as well, which has to be good and to name the same session; services hold the public half of
//! the gateways' key and cannot make a pin. The pin proves the *session*: the group, and whether there is a
//! session at all, are still what the peer says, so it stands beside a network that is trusted and not in
//! its place. Every scope with sessions has to propagate then, and a longer `max_age` of the gateways is
//! repeated by [`FromGatewayLayer::lifetimes`](crate::FromGatewayLayer::lifetimes).
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tower_affinity::{FromGatewayLayer, Trust, VerifyingKeyring};
//!
//! let gateways = Trust::Peers(vec!["10.0.7.0/24".parse()?]);
//! // AFFINITY_KEYS="2026-12:ed25519-public:…"
//! let ring = VerifyingKeyring::from_env("AFFINITY_KEYS")?;
//! let layer = FromGatewayLayer::new(gateways).verifier(ring.verifier("checkout".parse()?));
//! # let _ = layer; Ok(()) }
//! ```

mod future;
mod layer;
mod read;
mod service;
mod shared;
#[cfg(test)]
mod tests;

pub use self::future::ResponseFuture;
pub use self::layer::FromGatewayLayer;
pub use self::service::FromGateway;
