//! What pins tell about states that are newer than ours.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tower_affinity_core::{Newer, Revision, Timestamp};

use super::Rollouts;

/// The most requests that wait for a newer state at once; others are answered without.
const MOST_WAITING: usize = 1_024;

/// Where newer states come from, if not from this process alone.
pub trait RolloutSource: Send + Sync + 'static {
    /// A pin has shown that a state of `revision` exists: it is fetched soon, nobody waits for it.
    fn hint(&self, revision: Revision);

    /// Fetches the newest state, publishes it, and is ready then, or after 100 ms.
    ///
    /// Where a fresh read proves that no state is newer than ours, the revision of ours is raised
    /// to `revision` and published, so that who asked sees that it is reached.
    fn reach(&self, revision: Revision) -> Reaching;
}

/// Ready when a revision is reached, or was waited for long enough.
pub type Reaching = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Pins above our revision.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// The greatest revision of a pin above ours.
    seen: AtomicU64,
    /// Milliseconds since the Unix epoch when the first such pin came; 0 if we are not behind.
    since: AtomicU64,
    waiting: AtomicUsize,
}

impl Behind {
    /// A pin above our revision came at `now`. Answers since when there are such pins.
    pub(super) fn note(&self, revision: Revision, now: Timestamp) -> Timestamp {
        self.seen.fetch_max(revision.0, Ordering::SeqCst);
        let first =
            self.since
                .compare_exchange(0, now.as_millis(), Ordering::SeqCst, Ordering::SeqCst);
        Timestamp::from_millis(first.map_or_else(|since| since, |_| now.as_millis()))
    }

    /// We are at `revision` now.
    pub(super) fn reached(&self, revision: Revision) {
        if self.seen() <= revision {
            self.since.store(0, Ordering::SeqCst);
        }
    }

    pub(super) fn seen(&self) -> Revision {
        Revision(self.seen.load(Ordering::SeqCst))
    }
}

/// What is known about a state that a pin has shown to exist.
pub(crate) enum Asked {
    /// This, and more cannot be known now.
    Known(Newer),
    /// A newer state is being fetched.
    Wait(Waiting),
}

impl Rollouts {
    /// A pin of `revision`, above ours, names a group that only a newer state can know.
    pub(crate) fn ask(&self, revision: Revision, now: Timestamp) -> Asked {
        let Some(source) = &self.0.source else {
            return Asked::Known(self.prove(revision));
        };
        let behind_since = self.note(revision, now);
        let place = Place(self.clone());
        if self.0.behind.waiting.fetch_add(1, Ordering::SeqCst) >= MOST_WAITING {
            return Asked::Known(Newer::Unproven { behind_since });
        }
        Asked::Wait(Waiting {
            reaching: source.reach(revision),
            revision,
            behind_since,
            place,
        })
    }

    /// A pin has shown at `now` that a state of `revision`, above ours, exists: it is fetched,
    /// nobody waits. [`AssignLayer`](crate::AssignLayer) tells of every such pin.
    pub fn seen(&self, revision: Revision, now: Timestamp) {
        match &self.0.source {
            Some(source) => {
                self.note(revision, now);
                source.hint(revision);
            }
            None => {
                self.prove(revision);
            }
        }
    }
}

impl Rollouts {
    fn note(&self, revision: Revision, now: Timestamp) -> Timestamp {
        let since = self.0.behind.note(revision, now);
        // the state may have come since the request was decided: nothing else would tell that it has
        self.0.behind.reached(self.current().revision());
        since
    }
}

/// A place among those who wait; given back however the wait ends.
struct Place(Rollouts);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.behind.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A request that waits for a newer state.
pub(crate) struct Waiting {
    reaching: Reaching,
    revision: Revision,
    behind_since: Timestamp,
    place: Place,
}

impl Future for Waiting {
    type Output = Newer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Newer> {
        self.reaching.as_mut().poll(cx).map(|()| {
            let reached = self.place.0.current().revision() >= self.revision;
            match reached {
                true => Newer::Proved,
                false => Newer::Unproven {
                    behind_since: self.behind_since,
                },
            }
        })
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting")
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;
    use tower_affinity_testing::rollout;

    struct Quiet;

    impl RolloutSource for Quiet {
        fn hint(&self, _: Revision) {}

        fn reach(&self, _: Revision) -> Reaching {
            Box::pin(std::future::pending())
        }
    }

    fn behind_since(rollouts: &Rollouts, revision: u64, secs: u64) -> Timestamp {
        match rollouts.ask(Revision(revision), Timestamp::from_secs(secs)) {
            Asked::Wait(waiting) => waiting.behind_since,
            Asked::Known(known) => panic!("{known:?} without a word of the source"),
        }
    }

    #[test]
    fn a_pin_that_is_told_of_after_its_state_came_leaves_nobody_behind() {
        let rollouts = Rollouts::with_source(rollout(5, &[("A", 1)]), Quiet);
        rollouts.seen(Revision(5), Timestamp::from_secs(1_000));
        let first = behind_since(&rollouts, 9, 2_000);
        assert_eq!(first, Timestamp::from_secs(2_000));
        assert_eq!(behind_since(&rollouts, 9, 2_005), first, "it stays behind");
    }
}
