//! Where a request came from, as the server that took it knows.

mod network;

use std::net::{IpAddr, SocketAddr};

pub use self::network::{InvalidNetwork, Network};

/// The address of the peer that sent the request: a request extension that the server sets.
///
/// With axum: `.layer(axum::middleware::map_request(…))` that copies `ConnectInfo` into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// The address of the client behind trusted proxies: a request extension that a server sets which
/// knows which proxies to trust. Without it the peer's own address counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddr(pub IpAddr);
