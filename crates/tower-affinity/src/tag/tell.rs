//! Tells an endpoint what was decided for its request.

use http::Request;
use http::header::HeaderValue;

use super::names;
use crate::carrier::header;
use crate::propagate::ForEndpoint;
use crate::{Affinity, Arms};

/// Sets our headers, and removes what the client has sent under their names. Answers whether there
/// was a decision to tell. `last` is the group that was named before, as a value; an empty one for
/// none.
pub(crate) fn tell<B>(request: &mut Request<B>, last: &mut HeaderValue) -> bool {
    names::remove_spoofed(request.headers_mut());
    let affinity: Option<Affinity> = request.extensions().get().cloned();
    if let Some(affinity) = &affinity {
        names::set(request.headers_mut(), affinity, last);
    }
    let arms: Option<Arms> = request.extensions().get().cloned();
    if let Some(arms) = arms {
        names::set_arms(request.headers_mut(), &arms);
    }
    if let Some(ForEndpoint(pin)) = request.extensions_mut().remove() {
        request.headers_mut().insert(header::PIN, pin);
    }
    affinity.is_some()
}
