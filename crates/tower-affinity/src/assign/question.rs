//! One request's question to the rule, which can be asked twice.

use tower_affinity_core::{
    Absence, Decision, Inputs, Newer, Outcome, Policy, Presented as Shows, Revision, Shown, decide,
};

use super::settle::Settle;
use super::state::State;
use crate::random::fresh_session;
use crate::rollouts::{Asked, Waiting};
use crate::wire::Presented;

/// What one request asks: everything that a decision depends on and that does not change while it
/// waits for a newer state.
#[derive(Debug)]
pub(super) struct Question {
    shows: Shows,
    policy: Option<Policy>,
    settle: Settle,
}

/// The answer to a [`Question`].
pub(super) enum Asking {
    Decided(Decision, Settle),
    /// Its group can only be known in a newer state, which is being fetched.
    Behind(Question, Waiting),
}

impl Question {
    pub(super) fn new(state: &State, presented: Option<Presented>) -> Self {
        let rollout = state.rollouts.current();
        match presented {
            Some(Presented {
                shows,
                scope,
                at,
                navigation,
                visit: _,
            }) => Self {
                shows,
                policy: scope.as_ref().map(|scope| *scope.policy()),
                settle: Settle::new(scope, at, navigation, rollout),
            },
            None => Self {
                shows: Shows {
                    shown: Shown::Nothing(Absence::New),
                    key: None,
                    chosen: None,
                },
                policy: Some(Policy::default()),
                settle: Settle::new(None, state.clock.now(), false, rollout),
            },
        }
    }

    /// Asks the rule, with what is known about a newer state.
    pub(super) fn ask(mut self, state: &State, mut newer: Newer) -> Asking {
        let view = state.view();
        self.settle.decided_on(&view.rollout);
        if let Shown::Pin(pin) = &mut self.shows.shown {
            view.codes.resolve(pin);
            view.endpoints.resolve(&state.codec, &*state.ready, pin);
            state.note(pin);
        }
        if let Some(chosen) = &mut self.shows.chosen {
            view.codes.resolve_override(chosen);
        }
        let decision = loop {
            let outcome = decide(&Inputs {
                presented: &self.shows,
                policy: self.policy.as_ref(),
                rollout: &view.rollout,
                ready: &*state.ready,
                salt: &state.salt,
                serving: state.serving.as_ref(),
                now: self.settle.at(),
                fresh: fresh_session(),
                newer,
            });
            match outcome {
                Outcome::Decided(decision) => break decision,
                Outcome::Behind(revision) => match state.rollouts.ask(revision, self.settle.at()) {
                    Asked::Known(known) => newer = known,
                    Asked::Wait(waiting) => return Asking::Behind(self, waiting),
                },
            }
        };
        self.told(state, &decision, view.rollout.revision());
        Asking::Decided(decision, self.settle)
    }

    /// Tells everybody who keeps count of sessions.
    fn told(&self, state: &State, decision: &Decision, revision: Revision) {
        if let (Shown::Pin(pin), Some(policy)) = (&self.shows.shown, &self.policy) {
            let (at, idle) = (self.settle.at(), policy.lifetimes.idle());
            state.recorder.session_seen(pin, decision, at, idle);
        }
        // noted now and not with the answer: from here on the group has a session
        if let Some(pin) = decision.pin.as_ref().filter(|_| decision.issue) {
            state.note(pin);
        }
        if let Shown::Pin(pin) = &self.shows.shown
            && pin.revision > revision
        {
            state.rollouts.seen(pin.revision, self.settle.at());
        }
    }
}
