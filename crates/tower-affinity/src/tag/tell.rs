//! Tells an endpoint what was decided for its request.

use http::Request;

use super::names;
use crate::carrier::header;
use crate::propagate::ForEndpoint;
use crate::{Affinity, Arms};

/// Sets our headers, and removes what the client has sent under their names.
pub(crate) fn tell<B>(request: &mut Request<B>) {
    names::remove_spoofed(request.headers_mut());
    if let Some(affinity) = request.extensions().get::<Affinity>().cloned() {
        names::set(request.headers_mut(), &affinity);
    }
    if let Some(arms) = request.extensions().get::<Arms>().cloned() {
        names::set_arms(request.headers_mut(), &arms);
    }
    if let Some(ForEndpoint(pin)) = request.extensions_mut().remove() {
        request.headers_mut().insert(header::PIN, pin);
    }
}
