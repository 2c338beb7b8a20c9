//! Tells the affinity layer where a request came from.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request};
use tower_affinity::PeerAddr;

/// Copies axum's peer address into the one that scopes drawn by address read.
pub(crate) async fn tell(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
) -> Request {
    request.extensions_mut().insert(PeerAddr(peer));
    request
}
