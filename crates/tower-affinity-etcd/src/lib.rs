//! The shared engine of commit affinity over [etcd](https://etcd.io).
//!
//! [`EtcdEngine`] keeps what the replicas of one service must agree on under a prefix of its own:
//!
//! | key | what it holds |
//! | --- | --- |
//! | `PREFIX/state` | the document; its version is the key's `mod_revision`, 0 if there is none |
//! | `PREFIX/replicas/NAME` | the last record of a replica, until it is forgotten |
//! | `PREFIX/alive/NAME` | nothing; it is there as long as the replica's lease runs |
//!
//! ```
//! use tower_affinity_etcd::{EtcdEngine, EtcdOptions};
//!
//! # fn main() -> Result<(), tower_affinity_etcd::InvalidEtcd> {
//! // connects when it is first asked; a server that is down is an error of that call
//! let engine = EtcdEngine::new(
//!     ["http://10.0.0.1:2379", "http://10.0.0.2:2379"],
//!     "/affinity/checkout",
//!     EtcdOptions::new(),
//! )?;
//! # Ok(())
//! # }
//! ```
//!
//! With etcd's access control a user needs `readwrite` on the prefix `PREFIX/`; granting a lease
//! needs no right.
//!
//! # When something fails
//!
//! One endpoint is used at a time. A call that fails, or is not answered within
//! [`EtcdOptions::request_timeout`], leaves that connection; the next one goes to the next endpoint.
//! What may be asked twice is put to every endpoint within the time of one call; a replacement is
//! sent once, so that its answer is never that of an own earlier try.
//!
//! Who waits for a change hears of a silent link within twice that time: a quiet watch is asked for
//! its progress. HTTP/2 pings could not do that. By default etcd ends a connection whose client
//! pings more often than every five seconds.
//!
//! # Why `etcd-client`
//!
//! etcd also speaks JSON over HTTP/1.1 (its gRPC gateway), for which the gateway's hyper would do.
//! `etcd-client` and all below it are 120 packages with the core's 38, 100 s of processor time in a
//! clean debug build, and need `protoc`; but only 35 of them, half for the build alone, are not in
//! the gateway already. The JSON gateway would take none. Against it: base64 in every field, 64-bit
//! numbers as strings, streams of JSON without a framing, a path that differs between etcd's
//! versions, errors by text; and logging in, renewing the token and TLS would be written here.
//! `etcd-client` is kept by others and used by many, so it is the choice, in a crate that nobody
//! builds who does not ask for it.

mod engine;
mod link;
mod options;

pub use engine::EtcdEngine;
pub use options::{EtcdOptions, InvalidEtcd};
