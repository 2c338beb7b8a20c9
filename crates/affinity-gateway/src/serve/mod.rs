//! The listener: accepts connections, serves HTTP/1.1 and HTTP/2 on them, and ends in good order.
//!
//! ```text
//! accept ──> PROXY header ──> TLS ──> first bytes ──> HTTP/1.1 or h2 ──> PeerAddr ──> service
//!    │                                                   │
//!    └── shutdown: what is queued is accepted, connections finish, tunnels are asked to end one
//!        after another, and the deadline cuts what is left
//! ```
//!
//! The service is any tower service that cannot fail; each request carries a
//! [`PeerAddr`](tower_affinity::PeerAddr) in its extensions, and its [`Scheme`] if that is `https`.
//!
//! ```no_run
//! use std::convert::Infallible;
//!
//! use affinity_gateway::serve::{self, ServeOptions, Shutdown, Tunnels};
//! use axum::body::Body;
//! use http::{Request, Response};
//!
//! # async fn run() -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let hello = tower::service_fn(|_: Request<hyper::body::Incoming>| async {
//!     Ok::<_, Infallible>(Response::new(Body::from("hello")))
//! });
//! let shutdown = Shutdown::new();
//! let drained =
//!     serve::serve(listener, hello, ServeOptions::new(), Tunnels::new(), shutdown).await;
//! assert!(drained.is_clean());
//! # Ok(())
//! # }
//! ```

mod accept;
mod activity;
mod asked;
mod connection;
mod counted;
mod ended;
mod ending;
mod framing;
mod heard;
mod lifetime;
mod limits;
mod listen;
mod options;
mod patient;
mod prefixed;
mod proxy;
mod service;
mod shutdown;
mod spoken;
mod stream;
mod streams;
pub mod tls;
mod transport;
mod tunnels;
mod workers;

#[cfg(test)]
mod tests;

pub(crate) use self::framing::Interim;
pub(crate) use self::workers::{Socket, Workers};
pub use self::{
    ended::{ConnectionEvent, ConnectionRecorder, EndCause},
    limits::{Limits, LiveLimits},
    listen::{Drained, serve},
    options::ServeOptions,
    shutdown::Shutdown,
    transport::{Transport, TransportEvent, TransportRecorder, Transports},
    tunnels::Tunnels,
};
pub use crate::scheme::Scheme;
