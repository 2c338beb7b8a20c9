//! The commit affinity gateway as a library.
//!
//! [`Gateway`] is one process: a data plane that proxies, a control plane that changes the rollout,
//! and an admin side. The modules are listed in reading order.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod config;

// The path of a request, in its order.
pub mod serve;

pub mod access;

mod discard;

pub mod edge;

mod intake;

pub mod upstream;

mod trust;

mod gather;

mod write_through;

mod scheme;

// What changes the path, and what looks at it.
pub mod control;

pub mod events;

pub mod admin;

mod analysis;

mod auth;

mod boxed;

mod causes;

mod cuts;

mod discovery;
mod drained;

mod engine;

mod follow;

mod health;

mod files;

mod heartbeat;
mod jitter;

mod metrics;

#[cfg(feature = "otel")]
pub mod otel;

mod stack;
mod stored;
mod swap;

mod transport;

mod reload;

mod reserved;

mod start_error;

mod upgrade;

mod watched;

mod gateway;

// What would be, without doing it.
pub mod simulate;

pub use causes::with_causes;
pub use control::Control;
pub use files::raise_file_limit;
pub use gateway::Gateway;
pub use reload::ReloadError;
pub use stack::StackError;
pub use start_error::StartError;
pub use transport::TransportError;
pub use upgrade::UpgradeError;

#[cfg(test)]
mod wire;
