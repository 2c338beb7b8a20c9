//! The rollout of a service that stands beside gateways: it follows the state which they share.
//!
//! Gateways keep one document in an [`Engine`], such as etcd (feature `etcd`): the rollout, and the
//! endpoints that groups were registered with. [`SharedRollout`] only reads it. A state is taken whole
//! or not at all. One whose revision is not greater is passed over in silence; one that cannot be used, or
//! that is not there any more, is logged and counted once (`affinity_inputs_rejected_total`), and what
//! was there stays. While the engine is out of reach the last good state stays. A
//! pin above the present revision has the engine asked at once; the revision is never raised by a
//! pin. What a gateway was told while the engine was out of reach (an emergency abort) is its own
//! until the states meet again.
//!
//! Following ends with the last handle of the rollout.
//!
//! ```no_run
//! use tower_affinity::Groups;
//! use tower_affinity::core::Engine;
//! use tower_affinity::shared::SharedRollout;
//!
//! # async fn rollout(engine: impl Engine) -> Result<(), Box<dyn std::error::Error>> {
//! let rollouts = SharedRollout::new(engine, "checkout".parse()?).follow().await?;
//! # let _ = rollouts; Ok(()) }
//! ```
//!
//! Customised: the registered endpoints are the peers that requests are forwarded to.
//!
//! ```no_run
//! # use tower_affinity::Groups;
//! # use tower_affinity::core::Engine;
//! # use tower_affinity::shared::SharedRollout;
//! # async fn rollout(engine: impl Engine) -> Result<(), Box<dyn std::error::Error>> {
//! let peers = Groups::default();
//! let shared = SharedRollout::new(engine, "checkout".parse()?).peers(peers.clone());
//! let rollouts = shared.follow().await?;
//! # let _ = rollouts; Ok(()) }
//! ```

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tower_affinity_core::{
    Engine, EngineError, Revision, ServiceName, SharedError, SharedState, Stored, Version,
};

use crate::balance::Groups;
use crate::record::{Input, Recorder};
use crate::rollouts::{Prompted, Rollouts, WeakRollouts};

/// How often the engine is read although it told of no change: it may have been set back.
const EVERY: Duration = Duration::from_secs(10);

/// The least time between two reads that pins ask for.
const PAUSE: Duration = Duration::from_millis(20);

/// The wait after an engine that did not answer: it is asked again and again.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Why the shared state cannot be followed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SharedRolloutError {
    /// The engine does not answer.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No gateway has written a state yet.
    #[error("the engine holds no state of the service")]
    Missing,
    /// What it holds is no state of the service.
    #[error("the state that the engine holds cannot be used")]
    State(#[from] SharedError),
}

/// The state that gateways share, to be followed; see the [module](self).
#[derive(Debug)]
#[must_use]
pub struct SharedRollout<E> {
    engine: E,
    service: ServiceName,
    peers: Option<Groups>,
    recorder: Recorder,
}

impl<E: Engine> SharedRollout<E> {
    /// The state of `service` in `engine`.
    pub fn new(engine: E, service: ServiceName) -> Self {
        Self {
            engine,
            service,
            peers: None,
            recorder: Recorder::default(),
        }
    }

    /// What is fed with the endpoints that groups were registered with; by default nothing. No list
    /// empties a group.
    pub fn peers(self, peers: Groups) -> Self {
        let peers = Some(peers);
        Self { peers, ..self }
    }

    /// What counts states that are refused.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// Reads the state and follows it, until the last handle of the rollout is dropped.
    ///
    /// # Errors
    ///
    /// If there is no state to begin with.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with a timer.
    pub async fn follow(self) -> Result<Rollouts, SharedRolloutError> {
        let stored = self.engine.read().await?;
        let state = self.parse(&stored)?.ok_or(SharedRolloutError::Missing)?;
        let (source, ask, tell) = Prompted::at(state.rollout.revision());
        self.feed(&state);
        let rollouts = Rollouts::with_source(state.rollout, source);
        let follower = Arc::new(Follower {
            shared: self,
            rollouts: rollouts.downgrade(),
            tell,
            refused: Mutex::default(),
        });
        tokio::spawn(Arc::clone(&follower).watch(stored.version));
        tokio::spawn(follower.read_when_asked(ask));
        Ok(rollouts)
    }

    fn parse(&self, stored: &Stored) -> Result<Option<SharedState>, SharedError> {
        let document = stored.document.as_ref();
        document
            .map(|text| SharedState::from_document(text, &self.service))
            .transpose()
    }

    fn feed(&self, state: &SharedState) {
        let lists = self.peers.iter().flat_map(|peers| {
            let endpoints = state.endpoints.iter();
            endpoints.map(move |(group, list)| (peers, group, list))
        });
        for (peers, group, list) in lists {
            peers.update(group, list.iter().copied());
        }
    }
}

/// Publishes what the engine holds.
struct Follower<E> {
    shared: SharedRollout<E>,
    rollouts: WeakRollouts,
    tell: watch::Sender<Revision>,
    /// The document that was refused last: both tasks read it again and again.
    refused: Mutex<Option<Version>>,
}

impl<E: Engine> Follower<E> {
    /// Takes every change that the engine tells of.
    async fn watch(self: Arc<Self>, mut seen: Version) {
        while self.rollouts.upgrade().is_some() {
            let changed = timeout(EVERY, self.shared.engine.changed(seen)).await;
            match changed {
                Ok(Ok(stored)) => {
                    seen = stored.version;
                    self.take(&stored);
                }
                Ok(Err(error)) => {
                    tracing::debug!(%error, "shared state is not followed at the moment");
                    sleep(AFTER_ERROR).await;
                }
                // nothing has changed
                Err(_) => {}
            }
        }
    }

    /// Reads the state when a pin speaks of a greater one, and now and then.
    async fn read_when_asked(self: Arc<Self>, ask: Arc<Notify>) {
        while self.rollouts.upgrade().is_some() {
            // asked or not, it is read now
            let _ = timeout(EVERY, ask.notified()).await;
            match timeout(EVERY, self.shared.engine.read()).await {
                Ok(Ok(stored)) => self.take(&stored),
                Ok(Err(error)) => tracing::warn!(%error, "shared state cannot be read"),
                Err(_) => tracing::warn!("shared state cannot be read in time"),
            }
            sleep(PAUSE).await;
        }
    }

    fn take(&self, stored: &Stored) {
        let Some(rollouts) = self.rollouts.upgrade() else {
            return;
        };
        match self.shared.parse(stored) {
            Ok(Some(state)) => {
                // two tasks take states: the older one may come last
                let published = rollouts.update(|now| {
                    let is_newer = state.rollout.revision() > now.revision();
                    is_newer.then(|| state.rollout.clone()).ok_or(())
                });
                if let Ok(rollout) = published {
                    self.refused(None);
                    let revision = rollout.revision().0;
                    tracing::info!(revision, "rollout read from the shared state");
                }
                if state.rollout.revision() >= rollouts.current().revision() {
                    self.shared.feed(&state);
                }
            }
            // gone or damaged, the last good one stays
            Ok(None) => self.refuse(stored.version, None),
            Err(error) => self.refuse(stored.version, Some(&error)),
        }
        self.tell.send_replace(rollouts.current().revision());
    }

    /// Notes which document is refused now, and answers the one before.
    fn refused(&self, version: Option<Version>) -> Option<Version> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut refused, version)
    }

    fn refuse(&self, version: Version, error: Option<&SharedError>) {
        if self.refused(Some(version)) == Some(version) {
            return;
        }
        let error = error.map(|error| error as &(dyn std::error::Error + 'static));
        tracing::warn!(error, "shared state refused, what was there stays");
        self.shared.recorder.input_rejected(Input::Shared);
    }
}
