//! The leaf: one HTTP/1.1 exchange with one endpoint, over a pool.
//!
//! ```text
//! request ─> hop-by-hop fields off ─> forwarding fields on ─> pool of this endpoint ─> head
//!                                                                                       │
//!            tunnel (until both sides close) <── 101 ──────────────────────────────────┤
//!            body, trailers, straight through <── anything else ───────────────────────┘
//! ```
//!
//! The pool is keyed by the endpoint's address, so two groups never share a connection. Bodies
//! stream in both directions; nothing here buffers or reads them. What is sent and what is left
//! out says [`Upstream`].
//!
//! ```
//! use std::time::Duration;
//!
//! use affinity_gateway::{
//!     serve::Tunnels,
//!     upstream::{EndpointService, Upstream, UpstreamOptions},
//! };
//! use hyper::body::Incoming;
//!
//! let options = UpstreamOptions::new()
//!     .connect_timeout(Duration::from_millis(300))
//!     .trusted_proxies(["10.0.0.0/8".parse()?]);
//! let upstream = Upstream::<Incoming>::new(options, Tunnels::new());
//! let endpoint: EndpointService<Incoming> = upstream.endpoint("127.0.0.1:7001".parse()?);
//! # drop(endpoint);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod body;
mod deadline;
mod error;
mod forwarded;
mod future;
mod hop;
mod options;
mod request;
mod response;
mod service;
mod tunnel;

#[cfg(test)]
mod tests;

pub use self::{
    body::Passed,
    error::UpstreamError,
    future::ResponseFuture,
    options::UpstreamOptions,
    service::{EndpointService, Upstream},
};
