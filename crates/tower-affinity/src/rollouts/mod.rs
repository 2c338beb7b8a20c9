//! The handle through which sources feed the rollout and layers read it.

mod behind;
#[cfg(feature = "tokio")]
mod prompted;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tower_affinity_core::{Newer, Revision, Rollout};

use self::behind::Behind;
pub(crate) use self::behind::{Asked, Waiting};
pub use self::behind::{Reaching, RolloutSource};
#[cfg(feature = "tokio")]
pub(crate) use self::prompted::Prompted;

/// The present rollout: a cheap handle that sources feed and layers read.
///
/// A request reads it once for its decision. Where this process is the only source of states
/// ([`Rollouts::fixed`]), a pin above the present revision proves that a state was lost: the
/// revision is raised to it, the groups stay as they are. Else the source is asked
/// ([`Rollouts::with_source`]).
#[derive(Clone)]
pub struct Rollouts(Arc<Shared>);

struct Shared {
    current: ArcSwap<Rollout>,
    /// How many states were published: whoever holds one sees by it whether that is still the present
    /// one, and writes nothing for that.
    published: AtomicU64,
    /// Held while the state changes, so that no change is lost to another.
    changing: Mutex<Vec<Listener>>,
    source: Option<Box<dyn RolloutSource>>,
    behind: Behind,
}

type Listener = Box<dyn Fn(&Arc<Rollout>) + Send>;

impl Rollouts {
    /// A rollout that changes only by [`Rollouts::update`].
    #[must_use]
    pub fn fixed(rollout: Rollout) -> Self {
        Self::new(rollout, None)
    }

    /// A rollout that `source` publishes newer states of by [`Rollouts::update`].
    #[must_use]
    pub fn with_source(rollout: Rollout, source: impl RolloutSource) -> Self {
        Self::new(rollout, Some(Box::new(source)))
    }

    fn new(rollout: Rollout, source: Option<Box<dyn RolloutSource>>) -> Self {
        Self(Arc::new(Shared {
            current: ArcSwap::from_pointee(rollout),
            published: AtomicU64::new(0),
            changing: Mutex::new(Vec::new()),
            source,
            behind: Behind::default(),
        }))
    }

    /// The present snapshot.
    #[must_use]
    pub fn current(&self) -> Arc<Rollout> {
        self.0.current.load_full()
    }

    /// How many states were published. One that is read afterwards is at least as new.
    pub(crate) fn published(&self) -> u64 {
        self.0.published.load(Ordering::SeqCst)
    }

    /// Runs `change` on the present snapshot and publishes what it gives. Changes run one after
    /// another; `change` may take its time, readers do not wait for it.
    ///
    /// # Errors
    ///
    /// What `change` refuses with; then nothing is published.
    pub fn update<E>(
        &self,
        change: impl FnOnce(&Rollout) -> Result<Rollout, E>,
    ) -> Result<Arc<Rollout>, E> {
        let listeners = self
            .0
            .changing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(change(&self.current())?);
        self.0.current.store(Arc::clone(&next));
        self.0.published.fetch_add(1, Ordering::SeqCst);
        self.0.behind.reached(next.revision());
        for listener in listeners.iter() {
            listener(&next);
        }
        Ok(next)
    }

    /// Calls `listener` with every state that is published from now on. It must be quick: other
    /// changes wait for it.
    pub fn subscribe(&self, listener: impl Fn(&Arc<Rollout>) + Send + 'static) {
        let mut listeners = self
            .0
            .changing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(Box::new(listener));
    }

    /// The greatest revision that is known to exist: ours, or that of a pin above it.
    #[must_use]
    pub fn greatest(&self) -> Revision {
        self.current().revision().max(self.0.behind.seen())
    }

    /// There is no other source than this process, so its state is the newest: its revision is
    /// raised to that of a pin, the groups stay as they are.
    fn prove(&self, revision: Revision) -> Newer {
        if revision > self.current().revision() {
            let raised = self.update(|now| Ok::<_, std::convert::Infallible>(now.raised(revision)));
            match raised {
                Ok(rollout) => {
                    tracing::info!(revision = rollout.revision().0, "revision raised by a pin");
                }
                Err(never) => match never {},
            }
        }
        Newer::Proved
    }
}

#[cfg(feature = "tokio")]
impl Rollouts {
    /// A handle that does not keep the rollout.
    pub(crate) fn downgrade(&self) -> WeakRollouts {
        WeakRollouts(Arc::downgrade(&self.0))
    }
}

/// A handle of a rollout that does not keep it: for whoever feeds it as long as it is needed.
#[cfg(feature = "tokio")]
pub(crate) struct WeakRollouts(std::sync::Weak<Shared>);

#[cfg(feature = "tokio")]
impl WeakRollouts {
    pub(crate) fn upgrade(&self) -> Option<Rollouts> {
        self.0.upgrade().map(Rollouts)
    }
}

impl From<Rollout> for Rollouts {
    fn from(rollout: Rollout) -> Self {
        Self::fixed(rollout)
    }
}

impl fmt::Debug for Rollouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rollouts").field(&self.current()).finish()
    }
}
