//! What the head of an answer tells of its session.

use std::sync::Arc;
use std::time::Duration;

use http::Response;
use tower_affinity_core::{Cohort, Outcomes};

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
    /// Where a redirect means: sign in.
    pub(super) login: Arc<[PathPattern]>,
}

impl Default for Heads {
    fn default() -> Self {
        Self {
            slow: Duration::from_secs(1),
            login: Arc::new([]),
        }
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
        let took = self.elapsed();
        let cohort = self
            .affinity()
            .map_or(Cohort::None, |a| a.decision().cohort);
        // a session begins, moves or leaves its endpoint with an answer of its group, not with one
        // that we made
        let own = response.extensions().get::<OwnAnswer>().is_some();
        if !own {
            self.settled(response.extensions().get());
            let failed = auth::is_failure(response, &heads.login);
            self.series().auth_answer(cohort, failed);
        }
        let Some(affinity) = self.affinity() else {
            return;
        };
        let decision = affinity.decision();
        self.recorder().tally_answer(decision);
        let Some(pin) = &decision.pin else { return };
        let mut outcomes = Outcomes::default();
        if class.is_failure() {
            outcomes = outcomes.and(Outcomes::FAILED);
        }
        if took > heads.slow {
            outcomes = outcomes.and(Outcomes::SLOW);
        }
        let news = outcomes.without(pin.outcomes);
        if !news.is_empty() {
            self.recorder().turned_out(decision, news);
            response.extensions_mut().insert(Observed(news));
        }
    }

    /// The endpoint's answer makes the decision true.
    fn settled(&mut self, served: Option<&ServedBy>) {
        let Some(affinity) = self.affinity() else {
            return;
        };
        self.recorder().settled(affinity.decision());
        if let Some(left) = served.and_then(|by| affinity.left_for(by.endpoint())) {
            self.turns_out(left);
        }
    }
}
