//! The handle through which sources feed the rollout and layers read it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tower_affinity_core::{Newer, Revision, Rollout};

/// The present rollout: a cheap handle that sources feed and layers read.
///
/// A request reads it once for its decision. This handle has no source besides its own process, so
/// it can prove at once that there is no newer state; see [`Rollouts::prove`].
#[derive(Clone)]
pub struct Rollouts(Arc<Shared>);

struct Shared {
    current: ArcSwap<Rollout>,
    /// Held while the state changes, so that no change is lost to another.
    changing: Mutex<Vec<Listener>>,
}

type Listener = Box<dyn Fn(&Arc<Rollout>) + Send>;

impl Rollouts {
    /// A rollout that changes only by [`Rollouts::update`].
    #[must_use]
    pub fn fixed(rollout: Rollout) -> Self {
        Self(Arc::new(Shared {
            current: ArcSwap::from_pointee(rollout),
            changing: Mutex::new(Vec::new()),
        }))
    }

    /// The present snapshot.
    #[must_use]
    pub fn current(&self) -> Arc<Rollout> {
        self.0.current.load_full()
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

    /// What is known about a state of `revision`, which a pin has shown to exist.
    ///
    /// There is no other source here, so this state is the newest: its revision is raised to the
    /// pin's, the groups stay as they are.
    pub fn prove(&self, revision: Revision) -> Newer {
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
