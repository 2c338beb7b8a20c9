//! What goes on to services further down: the pin that the answer will carry.

use http::Request;
use http::header::HeaderValue;
use tower_affinity_core::{Decision, Sealed};

use super::state::State;
use crate::propagate::{ForEndpoint, Propagation};
use crate::wire::Carries;

/// Leaves the context of a request for what is inside. A pin that is new, moved or renewed is sealed
/// here and answered, so that the client gets the same bytes; one that is still good goes on as it
/// came.
///
/// A caller's pin goes on in place of ours: at any depth, a session is told apart by where it began.
pub(super) fn hand_on<B>(
    request: &mut Request<B>,
    state: &State,
    decision: &Decision,
    carries: Carries,
) -> Option<Box<Sealed>> {
    let Carries { own, callers } = carries;
    let pin = decision.pin.as_ref().filter(|_| decision.carries_pin());
    let sealed = pin
        .filter(|_| decision.issue && callers.is_none())
        .map(|pin| Box::new(state.codec.seal(pin)));
    let token = match &sealed {
        // a token is always visible ASCII
        Some(sealed) => HeaderValue::from_str(&sealed.token).ok(),
        None => callers.or_else(|| own.filter(|_| pin.is_some())),
    };
    leave(request, state, token);
    sealed
}

/// Leaves the context of a request that a peer has decided, with what it handed on.
pub(super) fn received<B>(request: &mut Request<B>, state: &State, carries: Carries) {
    leave(request, state, carries.own);
}

fn leave<B>(request: &mut Request<B>, state: &State, token: Option<HeaderValue>) {
    let context = Propagation::of(token.clone(), request.headers(), &state.recorder);
    if let Some(mut token) = token {
        token.set_sensitive(true);
        request.extensions_mut().insert(ForEndpoint(token));
    }
    request.extensions_mut().insert(context);
}
