//! Commit affinity for tower and axum: a session stays on the commit on which it began.
//!
//! While new code rolls out by percentages, a session's requests hop between old and new code.
//! With this crate a session is *pinned* to the deployment group (all endpoints that run one
//! commit) in which it started: every later request goes to any endpoint of that group, new
//! sessions follow the rollout's weights, and an aborted rollout moves each session once.
//!
//! Most users add [`AffinityLayer`] to a router, and handlers take [`Affinity`]. Where a service keeps
//! state of a session, [`LocalSessions`] holds it in the process, and [`Additive`] wraps a payload in a
//! store that several releases share.
//!
//! # Features
//!
//! - `axum`: the module `extract` with the extractors `Affinity`, `Arms`, `Moved`, `Propagation`,
//!   `RequireGroup` and `RestartFlow`, the extractor `Local`, and answers of peers in axum's body.
//! - `dynamodb`: the module `dynamodb`, stored assignments in Amazon DynamoDB; needs Rust 1.94.1.
//! - `etcd`: the module `etcd`, the engine that many replicas share; needs `protoc` to build.
//! - `redis`: the module `redis`, stored assignments in Redis or Valkey; `redis-cluster` adds clusters.
//! - `tokio`: the modules `files`, a rollout and a list of peers in files that are followed, and
//!   `shared`, the state that gateways share; `PropagateScopeLayer`, which makes a session's context
//!   that of the task that answers.
//! - `jwt-rust-crypto`, `jwt-aws-lc-rs`: the cryptography of the pins; enable exactly one in the
//!   whole build, or install a provider of `jsonwebtoken` before a keyring is made.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod by_name;
mod callers;
mod carrier;
mod clock;
mod error;
mod expiries;
mod keyring;
mod misplaced;
mod peer;
mod problem;
mod random;
mod rollouts;
mod served;
mod trust;

mod additive;
mod affinity;
pub mod assign;
pub mod balance;
pub mod experiments;
#[cfg(feature = "axum")]
pub mod extract;
#[cfg(feature = "tokio")]
pub mod files;
#[cfg(test)]
mod fixtures;
pub mod from_gateway;
mod gateway_layer;
pub mod identity;
pub mod peers;
pub mod propagate;
pub mod record;
pub mod require;
pub mod respond;
pub mod sessions;
#[cfg(feature = "tokio")]
pub mod shared;
pub mod signal;
mod spans;
pub mod store;
pub mod tag;
pub mod wire;

/// The values and the rule, without I/O.
pub use tower_affinity_core as core;
/// Stored assignments in Amazon DynamoDB.
#[cfg(feature = "dynamodb")]
pub use tower_affinity_dynamodb as dynamodb;
/// What replicas share, over etcd.
#[cfg(feature = "etcd")]
pub use tower_affinity_etcd as etcd;
/// Stored assignments in Redis or Valkey.
#[cfg(feature = "redis")]
pub use tower_affinity_redis as redis;

pub use self::additive::Additive;
pub use self::affinity::{Affinity, AffinityBuilder, AffinityLayer, AffinityService, BuildError};
pub use self::assign::AssignLayer;
pub use self::balance::{GroupBalance, Groups};
pub use self::callers::{Callers, CallersError, MAX_CALLERS};
pub use self::carrier::{Carrier, CookieAttributes, CookieError, SameSite};
pub use self::clock::SystemClock;
pub use self::error::BoxError;
pub use self::experiments::Arms;
pub use self::expiries::Expiries;
#[cfg(feature = "axum")]
pub use self::extract::MissingAffinity;
pub use self::from_gateway::FromGatewayLayer;
pub use self::gateway_layer::{GatewayLayer, GatewayService};
pub use self::identity::GroupIdentityLayer;
pub use self::keyring::{Keyring, KeyringError, VerifyingKeyring};
pub use self::peer::{ClientAddr, InvalidNetwork, Network, PeerAddr};
pub use self::peers::{PeerForwardLayer, PeerForwardService};
pub use self::problem::{OwnAnswer, Problem, is_grpc, speak_grpc};
#[cfg(feature = "tokio")]
pub use self::propagate::PropagateScopeLayer;
pub use self::propagate::{PropagateLayer, Propagation};
pub use self::record::GroupMetricsLayer;
pub use self::respond::RespondLayer;
pub use self::rollouts::{Reaching, RolloutSource, Rollouts};
pub use self::served::ServedBy;
pub use self::sessions::{Local, LocalSessions};
pub use self::signal::SignalLayer;
pub use self::spans::SPANS;
pub use self::tag::GroupTagLayer;
pub use self::trust::Trust;
pub use self::wire::PinLayer;

/// The examples of the repository's README are compiled along with those of this crate.
#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So are those of the page for services that keep state.
#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../../../docs/sessions.md")]
struct SessionsPage;

/// And those of the page of experiments.
#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../../../docs/experiments.md")]
struct ExperimentsPage;

/// And those of the page on adopting.
#[cfg(all(doctest, feature = "axum", feature = "tokio"))]
#[doc = include_str!("../../../docs/adopting.md")]
struct AdoptingPage;
