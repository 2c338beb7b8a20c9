//! Requests that a peer has decided.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tower_affinity_core::{Cause, Decision, Kind};
use tower_service::Service;

use super::future::Answer;
use super::state::State;
use crate::problem::{is_grpc, misdirected};
use crate::record::{Observed, PeerOutcome};
use crate::signal::said;
use crate::{Affinity, Arms};

/// A peer has sent the request: an extension, so that nobody sends it on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromPeer;

/// Serves a request as the peer has decided, whatever is known here; or says that it has reached
/// another group, so that the peer asks somebody else.
pub(super) fn serve<S, B, R>(
    inner: &mut S,
    state: &Arc<State>,
    mut request: Request<B>,
    mut decision: Decision,
) -> Answer<S::Future, R>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    let grpc = is_grpc(request.headers());
    let here = state.serving.as_ref();
    let meant = decision.group.as_ref().map(|group| group.name());
    if let Some(here) = here.filter(|here| meant != Some(*here)) {
        tracing::warn!(group = %here, "request of a peer for another group refused");
        state.recorder.peer(here, PeerOutcome::Misdirected);
        let decision = Decision {
            kind: Kind::Refused,
            cause: Cause::NotServedHere,
            ..decision
        };
        let response =
            misdirected("this process serves another commit than the one that was asked for");
        state.recorder.refused(&decision, response.status());
        return Answer::refused(response, Affinity::new(decision), grpc);
    }
    if let Some(pin) = &mut decision.pin {
        state.view().codes.resolve(pin);
    }
    if let Some(here) = here {
        state.recorder.peer(here, PeerOutcome::Received);
    }
    let affinity = Affinity::new(decision);
    let extensions = request.extensions_mut();
    extensions.insert(FromPeer);
    extensions.insert(affinity.clone());
    if let Some(experiments) = &state.experiments {
        // the peer has given them, and counts them
        extensions.insert(Arms::new(experiments.as_set().held(affinity.decision())));
    }
    Answer::of_peer(inner.call(request), affinity, grpc)
}

/// What the application says of the session is for the peer, which has its pin.
pub(super) fn tell_peer<R>(response: &mut Response<R>) {
    let observed = response.extensions_mut().remove::<Observed>();
    let said = said::take(response.extensions_mut());
    let said = match observed {
        Some(Observed(outcomes)) => said::with(said, outcomes),
        None => said,
    };
    said::write(said, response.headers_mut());
}
