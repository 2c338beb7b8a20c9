//! [`Prompted`]: a source that reads when somebody asks, and tells up to where it has read.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tower_affinity_core::Revision;

use super::{Reaching, RolloutSource};

/// How long a request waits for a state that only the source can tell of.
const PATIENCE: Duration = Duration::from_millis(100);

/// Has a follower read at once when a pin is above the present state.
pub(crate) struct Prompted {
    ask: Arc<Notify>,
    told: watch::Receiver<Revision>,
}

impl Prompted {
    /// The source of a state of `revision`; its follower waits for the one and tells by the other.
    pub(crate) fn at(revision: Revision) -> (Self, Arc<Notify>, watch::Sender<Revision>) {
        let ask = Arc::new(Notify::new());
        let (tell, told) = watch::channel(revision);
        let source = Self {
            ask: Arc::clone(&ask),
            told,
        };
        (source, ask, tell)
    }
}

impl RolloutSource for Prompted {
    fn hint(&self, _: Revision) {
        self.ask.notify_one();
    }

    fn reach(&self, revision: Revision) -> Reaching {
        self.ask.notify_one();
        let mut told = self.told.clone();
        Box::pin(async move {
            // reached or not, the present state tells
            let _ = timeout(PATIENCE, told.wait_for(|told| *told >= revision)).await;
        })
    }
}
