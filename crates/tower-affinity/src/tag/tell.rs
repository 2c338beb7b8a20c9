//! Tells an endpoint what was decided for its request.

use std::mem;

use http::Request;

use super::names;
use crate::carrier::header;
use crate::propagate::ForEndpoint;
use crate::{Affinity, Arms};

/// Sets our headers, and removes what the client has sent under their names. Answers whether there
/// was a decision to tell.
pub(crate) fn tell<B>(request: &mut Request<B>) -> bool {
    // apart from the extensions, which say what is to be set
    let mut headers = mem::take(request.headers_mut());
    names::remove_spoofed(&mut headers);
    let affinity: Option<&Affinity> = request.extensions().get();
    let is_decided = affinity.is_some();
    if let Some(affinity) = affinity {
        names::set(&mut headers, affinity);
    }
    if let Some(arms) = request.extensions().get::<Arms>() {
        names::set_arms(&mut headers, arms);
    }
    if let Some(ForEndpoint(pin)) = request.extensions_mut().remove() {
        headers.insert(header::PIN, pin);
    }
    *request.headers_mut() = headers;
    is_decided
}
