//! What was heard of the replicas that share the state.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tower_affinity::core::{Announced, Problem, ReplicaRecord, Timestamp};

use crate::events::{Events, Kind};

/// How long a replica counts as alive after its last word: two may be lost.
pub(crate) const LAPSE: Duration = Duration::from_secs(30);

/// What was heard of the replicas last.
#[derive(Debug, Default)]
pub(super) struct Peers {
    heard: Mutex<Heard>,
    told: watch::Sender<()>,
}

/// Whether this replica has served before it started.
#[derive(Debug)]
pub(super) enum Served {
    /// It has not.
    Never,
    /// It has, and said this last.
    Said(Box<ReplicaRecord>),
    /// It has, and nobody can tell what it said.
    Unknown,
}

#[derive(Clone, Debug)]
struct Heard {
    announced: Arc<[Announced]>,
    /// This replica's clock when the read of the records began.
    at: Timestamp,
    problems: Vec<Problem>,
    /// Whether this replica has been fit once.
    joined: bool,
    /// Whether any record was ever read.
    ever: bool,
}

impl Default for Heard {
    fn default() -> Self {
        Self {
            announced: Arc::new([]),
            at: Timestamp::default(),
            problems: Vec::new(),
            joined: false,
            ever: false,
        }
    }
}

impl Peers {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        // what is in it is replaced as a whole
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A receiver that is told whenever the replicas were heard.
    pub(super) fn told(&self) -> watch::Receiver<()> {
        self.told.subscribe()
    }

    pub(super) fn announced(&self) -> (Arc<[Announced]>, Timestamp) {
        let heard = self.lock();
        (Arc::clone(&heard.announced), heard.at)
    }

    /// Keeps what was read, before it is judged.
    pub(super) fn heard(&self, announced: Vec<Announced>, at: Timestamp) {
        let mut heard = self.lock();
        heard.announced = announced.into();
        heard.at = at;
        drop(heard);
        self.told.send_replace(());
    }

    pub(super) fn joins(&self) -> bool {
        !self.lock().joined
    }

    /// Keeps what is wrong with this replica, and says what is new of it.
    pub(super) fn judged(&self, problems: Vec<Problem>, events: &Events) {
        let mut heard = self.lock();
        for problem in problems.iter().filter(|p| !heard.problems.contains(p)) {
            let unready = if problem.unready { " (not ready)" } else { "" };
            events.warn(Kind::Replica, None, &format!("{}{unready}", problem.kind));
        }
        if problems.is_empty() && !heard.problems.is_empty() {
            events.info(
                Kind::Replica,
                None,
                "nothing is wrong with this replica any more",
            );
        }
        heard.joined |= problems.iter().all(|problem| !problem.unready);
        heard.problems = problems;
        heard.ever = true;
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        self.lock().problems.clone()
    }

    /// Whether the others show nothing that speaks against this replica; `None` if nothing was
    /// heard of them yet.
    pub(super) fn fit(&self) -> Option<bool> {
        let heard = self.lock();
        heard
            .ever
            .then(|| heard.problems.iter().all(|problem| !problem.unready))
    }
}
