//! Requests that a peer has decided.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tower_affinity_core::{Cause, Cohort, Decision, Kind};
use tower_service::Service;

use super::future::Answer;
use super::state::State;
use crate::problem::{Problem, is_grpc, misdirected};
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
    if here.is_some_and(|here| meant != Some(here)) {
        return misdirect(state, decision, grpc);
    }
    // the peer does not know yet: what is known here to be aborted is never served here
    let aborted = decision
        .group
        .as_ref()
        .is_some_and(|id| state.rollouts.current().is_aborted(id, state.clock.now()));
    if aborted {
        tracing::warn!("request of a peer for an aborted group refused");
        let decision = refused(decision, Cause::Behind);
        let detail = "the commit of this session was withdrawn a moment ago; try again";
        let response = Problem::StateBehind.response(detail);
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
    Answer::of_peer(inner.call(request), affinity, Arc::clone(state), grpc)
}

/// Refuses a request whose mark does not count and that shows no pin: whoever has marked it has taken
/// the pin off, so it would begin another session here.
pub(super) fn unmarked<F, B, R: From<Bytes>>(state: &State, request: &Request<B>) -> Answer<F, R> {
    let decision = Decision {
        kind: Kind::Refused,
        cause: Cause::NotServedHere,
        group: None,
        pin: None,
        issue: false,
        cohort: Cohort::None,
        endpoint_key: None,
    };
    misdirect(state, decision, is_grpc(request.headers()))
}

/// Says that the request has reached the wrong process and was not carried out.
fn misdirect<F, R: From<Bytes>>(state: &State, decision: Decision, grpc: bool) -> Answer<F, R> {
    if let Some(here) = &state.serving {
        tracing::warn!(group = %here, "request of a peer refused");
        state.recorder.peer(here, PeerOutcome::Misdirected);
    }
    let decision = refused(decision, Cause::NotServedHere);
    let response = misdirected();
    state.recorder.refused(&decision, response.status());
    Answer::refused(response, Affinity::new(decision), grpc)
}

fn refused(decision: Decision, cause: Cause) -> Decision {
    Decision {
        kind: Kind::Refused,
        cause,
        ..decision
    }
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
