//! The leaf: one exchange with one endpoint, over a pool of HTTP/1.1 or HTTP/2 connections.
//!
//! ```text
//! request ─> hop-by-hop fields off ─> forwarding fields on ─> pool of this endpoint ─> head
//!                                                                                       │
//!            tunnel (until both sides close) <── switch agreed ────────────────────────┤
//!            body, trailers, straight through <── anything else ───────────────────────┘
//! ```
//!
//! The pool is keyed by the endpoint's address, so two groups never share a connection, and by the
//! runtime, on which a connection stays. Bodies stream in both directions; nothing here buffers or
//! reads them. What is sent and what is left out says [`Upstream`].
//!
//! A connection over HTTP/1.1 has no task: the exchange that has it drives it, and while it is unused
//! one task looks after all of its list.
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
//!
//! With HTTP/2 for the endpoints of one group, and more time for some paths:
//!
//! ```
//! use std::time::Duration;
//!
//! use affinity_gateway::upstream::{EndpointProtocol, Limits, UpstreamOptions};
//!
//! let options = UpstreamOptions::new()
//!     .group("9f1c2ab".parse()?, EndpointProtocol::H2c)
//!     .scope("/reports/*".parse()?, Limits::default().response(Duration::from_secs(300)));
//! # drop(options);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod body;
mod connection;
mod deadline;
mod dial;
mod error;
mod forwarded;
mod future;
mod hop;
mod idle;
mod interim;
mod link;
mod multiplexed;
mod options;
mod pools;
mod protocol;
mod relay;
mod request;
mod response;
mod service;
mod shared;
mod slot;
mod source;
mod stream;
mod switch;
mod timeouts;
mod timer;
mod told;
mod tunnel;
mod whole;

#[cfg(test)]
mod tests;

pub use self::{
    answer::AnswerBody,
    error::UpstreamError,
    future::ResponseFuture,
    options::UpstreamOptions,
    protocol::{EndpointProtocol, EndpointTls},
    service::{EndpointService, Upstream},
    timeouts::{Limits, TimeoutKind, Timeouts},
};
