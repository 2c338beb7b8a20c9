//! What the head of an answer tells of its session.

use std::sync::Arc;
use std::time::Duration;

use http::Response;
use tower_affinity_core::{Cohort, Decision, Outcomes};

use super::auth;
use super::outcomes::Observed;
use super::running::Running;
use super::series::CodeClass;
use crate::wire::PathPattern;
use crate::{OwnAnswer, ServedBy};

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) struct Heads {
    /// A head that takes longer is slow.
    pub(super) slow: Duration,
    /// Where a redirect means: sign in. `None` for nowhere, so that a request holds nothing.
    pub(super) login: Option<Arc<[PathPattern]>>,
}

impl Default for Heads {
    fn default() -> Self {
        Self {
            slow: Duration::from_secs(1),
            login: None,
        }
    }
}

/// Who was moved, whatever the reason: also a session that a step has drawn anew, which is of the
/// draw's cohorts everywhere else, is new to its group.
fn cohort(decision: &Decision) -> Cohort {
    match &decision.pin {
        Some(pin) if pin.moves > 0 => Cohort::Moved,
        _ => decision.cohort,
    }
}

impl Running {
    /// The head of the answer is there.
    pub(super) fn answered<B>(
        &mut self,
        response: &mut Response<B>,
        class: CodeClass,
        heads: &Heads,
    ) {
        // a session begins, moves or leaves its endpoint with an answer of its group, not with one
        // that we made
        let own = response.extensions().get::<OwnAnswer>().is_some();
        if !own {
            self.settled(response.extensions().get());
            // of a success only gRPC's status says so, and that is the class as well
            let may_fail = !response.status().is_success() || class == CodeClass::ClientError;
            let failed =
                may_fail && auth::is_failure(response, heads.login.as_deref().unwrap_or_default());
            let cohort = self.affinity().map(|affinity| cohort(affinity.decision()));
            let cohort = cohort.unwrap_or(Cohort::None);
            self.series().auth_answer(cohort, failed);
        }
        let Some(affinity) = self.affinity() else {
            return;
        };
        let decision = affinity.decision();
        self.series().tally_answer(decision);
        let Some(pin) = &decision.pin else { return };
        let mut outcomes = Outcomes::default();
        if class.is_failure() {
            outcomes = outcomes.and(Outcomes::FAILED);
        }
        if !pin.outcomes.contains(Outcomes::SLOW) && self.elapsed() > heads.slow {
            outcomes = outcomes.and(Outcomes::SLOW);
        }
        let news = outcomes.without(pin.outcomes);
        if !news.is_empty() {
            self.series().turned_out(decision, news);
            response.extensions_mut().insert(Observed(news));
        }
    }

    /// The endpoint's answer makes the decision true.
    fn settled(&mut self, served: Option<&ServedBy>) {
        let Some(affinity) = self.affinity() else {
            return;
        };
        self.series().settled(affinity.decision());
        if let Some(left) = served.and_then(|by| affinity.left_for(by.endpoint())) {
            self.turns_out(left);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tower_affinity_core::{Cause, Kind, Lifetimes, Revision, SessionId, SessionPin, Timestamp};
    use tower_affinity_testing::id;

    use super::*;

    #[test]
    fn a_session_that_was_drawn_anew_is_new_to_its_group() {
        let (session, now) = (
            SessionId::from_random(1),
            Timestamp::from_secs(1_800_000_000),
        );
        let pin = SessionPin::new(session, id("a"), Revision(7), now, Lifetimes::default());
        for (moves, expected) in [(0, Cohort::Established), (1, Cohort::Moved)] {
            let pin = SessionPin {
                moves,
                ..pin.clone()
            };
            let decision = Decision {
                kind: Kind::Pinned,
                cause: Cause::Ok,
                group: Some(id("a")),
                pin: Some(pin),
                issue: false,
                cohort: Cohort::Established,
                endpoint_key: None,
            };
            assert_eq!(cohort(&decision), expected, "{moves} moves");
        }
    }
}
