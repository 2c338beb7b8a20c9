//! Tells the affinity layer where a request came from, as tonic's server knows it.

use axum::extract::Request;
use tonic::transport::server::TcpConnectInfo;
use tower::util::MapRequestLayer;
use tower_affinity::PeerAddr;

/// A layer outside of the affinity layer.
pub(crate) fn layer() -> MapRequestLayer<fn(Request) -> Request> {
    MapRequestLayer::new(tell)
}

fn tell(mut request: Request) -> Request {
    let connection = request.extensions().get::<TcpConnectInfo>();
    if let Some(peer) = connection.and_then(TcpConnectInfo::remote_addr) {
        request.extensions_mut().insert(PeerAddr(peer));
    }
    request
}
