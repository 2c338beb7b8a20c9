//! What the services of one [`FromGatewayLayer`](super::FromGatewayLayer) share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tower_affinity_core::{Clock, Lifetimes, PinVerifier};

use crate::misplaced::Misplaced;
use crate::record::{Recorder, ToldRejected};
use crate::{Arms, SystemClock, Trust};

/// Whom to believe, and what was said about it.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) trust: Trust,
    pub(super) verifier: Option<PinVerifier>,
    pub(super) lifetimes: Lifetimes,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) recorder: Recorder,
    /// Those of a session that takes part in no experiment.
    pub(super) no_arms: Arms,
    /// A bit for each cause that was logged.
    logged: Arc<AtomicU8>,
    misplaced: Misplaced,
}

impl Shared {
    pub(super) fn new(trust: Trust) -> Self {
        Self {
            trust,
            verifier: None,
            lifetimes: Lifetimes::default(),
            clock: Arc::new(SystemClock::new()),
            recorder: Recorder::default(),
            no_arms: Arms::none(),
            logged: Arc::default(),
            misplaced: Misplaced::default(),
        }
    }

    /// What a request says does not count. What it said is not logged: anybody may have sent it.
    pub(super) fn rejected(&self, why: ToldRejected) {
        self.recorder.told_rejected(why);
        if self.is_first(1 << why as u8) {
            let cause = why.as_str();
            tracing::warn!(cause, "headers of affinity that do not count, told once");
        }
    }

    /// A layer that decides by itself is in the same service.
    pub(super) fn both(&self) {
        self.misplaced.say(
            "FromGatewayLayer",
            "an AffinityLayer is in the same service: behind a gateway use only the former, without \
             one only the latter",
        );
    }

    fn is_first(&self, bit: u8) -> bool {
        let known = self.logged.load(Ordering::Relaxed) & bit != 0;
        !known && self.logged.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("trust", &self.trust)
            .field("verifier", &self.verifier)
            .finish_non_exhaustive()
    }
}
