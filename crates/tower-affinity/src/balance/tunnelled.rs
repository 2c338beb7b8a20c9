//! Which answers open a tunnel.

use http::{Response, StatusCode};

/// The leaf's word that its answer has opened a tunnel, although the status may not say so: that of
/// an extended CONNECT (RFC 8441) is 200. A response extension; a 101 needs none.
#[derive(Clone, Copy, Debug)]
pub struct Tunnelled;

pub(crate) fn is_tunnel<B>(response: &Response<B>) -> bool {
    response.status() == StatusCode::SWITCHING_PROTOCOLS
        || response.extensions().get::<Tunnelled>().is_some()
}
