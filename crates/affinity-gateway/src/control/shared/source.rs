//! [`Fetches`]: who wants the newest state, and when it was fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tower_affinity::core::Revision;
use tower_affinity::{Reaching, RolloutSource};

/// How long a request waits for a newer state.
const WAIT: Duration = Duration::from_millis(100);

/// Fetches of the shared state, one after another; many wishes share one.
#[derive(Debug)]
pub(crate) struct Fetches {
    wanted: Notify,
    /// The number of the last fetch that began.
    begun: AtomicU64,
    /// The number of the last fetch that ended.
    ended: watch::Sender<u64>,
}

impl Default for Fetches {
    fn default() -> Self {
        Self {
            wanted: Notify::new(),
            begun: AtomicU64::new(0),
            ended: watch::Sender::new(0),
        }
    }
}

impl Fetches {
    /// Wants a fetch.
    pub(crate) fn want(&self) {
        self.wanted.notify_one();
    }

    /// Ready when somebody wants a fetch.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// A fetch begins; it ends when the answer is dropped.
    pub(crate) fn begin(&self) -> Fetch<'_> {
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        Fetch {
            fetches: self,
            number,
        }
    }
}

/// A fetch under way.
pub(crate) struct Fetch<'a> {
    fetches: &'a Fetches,
    number: u64,
}

impl Drop for Fetch<'_> {
    fn drop(&mut self) {
        self.fetches.ended.send_replace(self.number);
    }
}

/// The source of a [`Rollouts`](tower_affinity::Rollouts).
#[derive(Clone, Debug)]
pub(crate) struct Source(pub(crate) Arc<Fetches>);

impl RolloutSource for Source {
    fn hint(&self, _: Revision) {
        self.0.want();
    }

    fn reach(&self, _: Revision) -> Reaching {
        // one that began before may have read before the newer state was there
        let number = self.0.begun.load(Ordering::SeqCst) + 1;
        let mut ended = self.0.ended.subscribe();
        self.0.want();
        Box::pin(async move {
            // either way the caller looks at what there is
            let _ = timeout(WAIT, ended.wait_for(|ended| *ended >= number)).await;
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_wish_waits_for_a_fetch_that_begins_after_it() {
        let fetches = Arc::new(Fetches::default());
        let early = fetches.begin();
        let reach = tokio::spawn(Source(Arc::clone(&fetches)).reach(Revision(7)));
        tokio::task::yield_now().await;
        drop(early);
        tokio::task::yield_now().await;
        assert!(
            !reach.is_finished(),
            "a fetch that began before is no proof"
        );
        fetches.wanted().await;
        drop(fetches.begin());
        reach.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_wish_waits_100_ms_at_most() {
        let fetches = Arc::new(Fetches::default());
        let start = Instant::now();
        Source(fetches).reach(Revision(7)).await;
        assert_eq!(start.elapsed(), WAIT);
    }
}
