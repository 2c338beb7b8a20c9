//! [`StartError`]: why a gateway could not start.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::admin::TokenError;
use crate::control::ControlError;
use crate::stack::StackError;
use crate::transport::TransportError;
use crate::upgrade::UpgradeError;

/// A gateway that could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address} ({key})")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The setting that names it.
        key: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The admin token cannot be read or made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The state or the edits since are refused.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The settings name an etcd, and this build knows none.
    #[error(
        "state.etcd: this build has no etcd; build it with the feature etcd, or keep the state in a file only"
    )]
    NoEtcd,
    /// The settings name a place at which etcd cannot be used.
    #[cfg(feature = "etcd")]
    #[error("state.etcd cannot be used")]
    Etcd(#[source] tower_affinity::etcd::InvalidEtcd),
    /// The settings name a store, and this build knows none of its kind.
    #[error(
        "store.kind: this build has no {0}; build it with the feature {0}, or use another kind"
    )]
    NoStore(&'static str),
    /// The settings name a place at which Redis cannot be used.
    #[cfg(feature = "redis")]
    #[error("store.url and store.cluster cannot be used")]
    Redis(#[source] tower_affinity::redis::InvalidRedis),
    /// The settings name a place at which DynamoDB cannot be used.
    #[cfg(feature = "dynamodb")]
    #[error("the store in DynamoDB cannot be used")]
    Dynamo(#[source] tower_affinity::dynamodb::InvalidDynamo),
    /// The layers cannot be built.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The listener's transport cannot be built.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// No other process could be taken over from; it goes on.
    #[error("no upgrade")]
    Upgrade(#[from] UpgradeError),
    /// The access log cannot be opened.
    #[error("access_log.path cannot be opened")]
    AccessLog(#[source] io::Error),
    /// The threads that serve clients cannot be started.
    #[error("the workers (listen.workers) cannot be started")]
    Workers(#[source] io::Error),
    /// The metrics cannot be set up.
    #[error("the metrics cannot be set up: {0}")]
    Metrics(String),
}
