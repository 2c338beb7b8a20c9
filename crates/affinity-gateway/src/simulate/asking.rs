//! The question to the rule.

use tower_affinity::core::{
    Absence, AlwaysReady, Decision, Fault, Inputs, LiveCounts, Newer, Outcome, Presented, Shown,
    Timestamp, decide,
};

use super::session::{Phase, Session};

/// What a client shows, kept between the questions so that asking allocates nothing.
#[derive(Debug)]
pub(super) struct Asking(Presented);

impl Asking {
    pub(super) fn new() -> Self {
        Self(Presented::default())
    }

    /// Asks the rule about a request of the session; it always answers, since [`Newer::Proved`] says
    /// that there is nothing to wait for.
    pub(super) fn ask(
        &mut self,
        phase: &Phase<'_>,
        session: &mut Session,
        at: Timestamp,
    ) -> Option<Decision> {
        let lifetimes = phase.rules.policy.lifetimes;
        let absence = match &session.pin {
            None => Some(Absence::New),
            Some(pin) if at >= pin.started.plus(lifetimes.max_age()) => {
                Some(Absence::Fault(Fault::ExpiredMax))
            }
            Some(pin) if at >= pin.expires => Some(Absence::Fault(Fault::ExpiredIdle)),
            Some(_) => None,
        };
        // who shows a pin needs no id
        let fresh = match (absence, &session.pin) {
            (None, Some(pin)) => pin.session,
            _ => session.dice.session(),
        };
        match (absence, &session.pin, &mut self.0.shown) {
            (None, Some(pin), Shown::Pin(shown)) => (**shown).clone_from(pin),
            (None, Some(pin), shown) => *shown = Shown::Pin(Box::new(pin.clone())),
            (absence, _, shown) => *shown = Shown::Nothing(absence.unwrap_or(Absence::New)),
        }
        self.0.key = session.key(phase.rules);
        let outcome = decide(&Inputs {
            presented: &self.0,
            policy: Some(&phase.rules.policy),
            rollout: phase.rollout,
            ready: &AlwaysReady,
            live: &LiveCounts::Unknown,
            salt: &phase.rules.salt,
            serving: None,
            now: at,
            fresh: &|| fresh,
            newer: Newer::Proved,
        });
        match outcome {
            Outcome::Decided(decision) => Some(decision),
            Outcome::Behind(_) => None,
        }
    }
}
