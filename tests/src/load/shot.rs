//! What became of each request, as its client saw it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use http::{Method, StatusCode};
use tokio::time::Instant;

use super::is_well;

/// One request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shot {
    /// Its id.
    pub id: u64,
    /// The number of its session.
    pub session: usize,
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: String,
    /// When it was sent.
    pub sent: Instant,
    /// How long it took until the answer's end, or until it failed.
    pub took: Duration,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// An answer that looked complete.
    #[non_exhaustive]
    Answered {
        /// Its status.
        status: StatusCode,
        /// The group that answered; `None` if the gateway did.
        group: Option<String>,
        /// The pod that answered.
        pod: Option<String>,
        /// Whether it is the answer to this very request, and all of it, by the pod's hashes.
        whole: bool,
        /// Its `Retry-After` in seconds.
        retry_after: Option<u64>,
        /// Whether it set or cleared a cookie.
        set_cookie: bool,
    },
    /// The answer broke off, and the client saw that it did.
    Truncated(StatusCode),
    /// No connection to the gateway.
    Unreached,
    /// The connection to the gateway ended before an answer.
    Broken(String),
    /// Nothing came.
    Silence,
}

impl Shot {
    /// The group that answered well.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Answered { status, group, .. } if is_well(*status) => group.as_deref(),
            _ => None,
        }
    }

    /// The pod that answered well.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Answered { status, pod, .. } if is_well(*status) => pod.as_deref(),
            _ => None,
        }
    }

    /// The status of an answer that looked complete.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match &self.outcome {
            Outcome::Answered { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Many requests, in the order in which they were sent.
#[derive(Clone, Debug)]
pub struct Shots(Vec<Shot>);

impl Shots {
    pub(super) fn new(mut shots: Vec<Shot>) -> Self {
        shots.sort_by_key(|shot| shot.sent);
        Self(shots)
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Shot> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that were sent then.
    #[must_use]
    pub fn sent(&self, when: Range<Instant>) -> Self {
        self.only(|shot| when.contains(&shot.sent))
    }

    /// Those for which that holds.
    #[must_use]
    pub fn only(&self, holds: impl Fn(&Shot) -> bool) -> Self {
        Self(self.0.iter().filter(|shot| holds(shot)).cloned().collect())
    }

    /// Those that were not answered well.
    pub fn failures(&self) -> impl Iterator<Item = &Shot> {
        let well = |shot: &&Shot| shot.status().is_some_and(is_well);
        self.0.iter().filter(move |shot| !well(shot))
    }

    /// How many failed, by how.
    #[must_use]
    pub fn faults(&self) -> BTreeMap<String, usize> {
        let mut faults = BTreeMap::new();
        for shot in self.failures() {
            let kind = match &shot.outcome {
                Outcome::Answered { status, .. } => format!("{} {status}", shot.method),
                other => format!("{} {other:?}", shot.method),
            };
            *faults.entry(kind).or_default() += 1;
        }
        faults
    }

    /// The share that a pod answered, of all that pods answered well.
    #[must_use]
    pub fn share(&self, pod: &str) -> f64 {
        let by = self.0.iter().filter_map(Shot::pod);
        let hits = by.clone().filter(|by| *by == pod).count();
        hits as f64 / by.count().max(1) as f64
    }

    /// How long it took at most, for that share of them.
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let mut took: Vec<_> = self.0.iter().map(|shot| shot.took).collect();
        took.sort();
        assert!(!took.is_empty(), "no request was sent then");
        let at = (took.len() as f64 * share).ceil() as usize;
        took[at.clamp(1, took.len()) - 1]
    }
}
