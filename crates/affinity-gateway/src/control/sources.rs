//! What is known of the sources of endpoints: how old their last good answer is, and what is wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tower_affinity::core::{GroupName, Timestamp};

use crate::config::Discovery;

/// Why an answer of a source did not count, or not wholly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Failure {
    /// It names no endpoint.
    Empty,
    /// Nobody answered in time.
    Timeout,
    /// It cannot be asked, or answers that it cannot tell.
    Error,
    /// It is no list of endpoints.
    Invalid,
    /// It names an endpoint that another group has.
    Taken,
}

impl Failure {
    /// The word in labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Timeout => "timeout",
            Self::Error => "error",
            Self::Invalid => "invalid",
            Self::Taken => "taken",
        }
    }

    /// Whether the source said something all the same.
    fn is_answer(self) -> bool {
        !matches!(self, Self::Timeout | Self::Error)
    }
}

/// The sources that are followed. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Arc<Mutex<BTreeMap<GroupName, Standing>>>);

/// What is known of one source.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) source: Discovery,
    /// When its answer last counted as a whole; before that, since when it is followed.
    since: Timestamp,
    was_good: bool,
    answered: bool,
    failure: Option<Failure>,
}

impl Standing {
    /// How old its last good answer is; `None`: there was none yet.
    pub(crate) fn age(&self, now: Timestamp) -> Option<Duration> {
        self.was_good.then(|| now.since(self.since))
    }

    /// For how long the list has been kept although the source says otherwise, or nothing.
    pub(crate) fn stale(&self, now: Timestamp) -> Duration {
        match self.was_good && self.failure.is_none() {
            true => Duration::ZERO,
            false => now.since(self.since),
        }
    }

    /// What is wrong with its last answer.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Whether it has said anything yet.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered
    }
}

impl Sources {
    /// From now on `source` is followed.
    pub(crate) fn begin(&self, group: &GroupName, source: &Discovery, now: Timestamp) {
        let standing = Standing {
            source: source.clone(),
            since: now,
            was_good: false,
            answered: false,
            failure: None,
        };
        self.all().insert(group.clone(), standing);
    }

    /// Notes what became of an answer; says whether that is other news than the last time.
    pub(crate) fn note(&self, group: &GroupName, failure: Option<Failure>, now: Timestamp) -> bool {
        let mut all = self.all();
        let Some(standing) = all.get_mut(group) else {
            return false;
        };
        let is_news = standing.failure != failure || !standing.was_good && failure.is_none();
        standing.failure = failure;
        standing.answered |= failure.is_none_or(Failure::is_answer);
        if failure.is_none() {
            standing.was_good = true;
            standing.since = now;
        }
        is_news
    }

    /// It is followed no more.
    pub(crate) fn end(&self, group: &GroupName) {
        self.all().remove(group);
    }

    /// What is known of the source of `group`.
    pub(crate) fn of(&self, group: &GroupName) -> Option<Standing> {
        self.all().get(group).cloned()
    }

    /// All of them.
    pub(crate) fn standings(&self) -> BTreeMap<GroupName, Standing> {
        self.all().clone()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<GroupName, Standing>> {
        // each entry is replaced whole, so it is right after a panic too
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
