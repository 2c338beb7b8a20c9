//! The state that many replicas share: how this one reads, changes and follows it.
//!
//! `source` tells the data plane what to ask when a pin is ahead, `sync` brings the shared state
//! and ours together, `change` makes a change in it, and `fact` is what becomes of an abort while
//! it is out of reach.

mod change;
mod fact;
mod join;
mod source;
mod sync;
mod word;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use thiserror::Error;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tower_affinity::core::{
    Clock, Engine, EngineError, EngineFuture, ServiceName, SharedError, Timestamp, Version,
};

pub(crate) use self::source::{Fetches, Source};
use super::Control;
use crate::causes::with_causes;
use crate::events::{Events, Kind};

/// How long the engine may take to answer: far more than it needs, and little enough for an
/// operator to wait for when it is gone. An engine that gives up after one second by itself does it
/// first: only a call that ends there makes it leave a member that is silent.
const ANSWER: Duration = Duration::from_millis(1500);

/// A control plane that shares its state with other replicas. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    control: Control,
    shared: Arc<Shared>,
}

/// The engine as this replica sees it.
#[derive(Debug)]
pub(super) struct Shared {
    engine: Arc<dyn Engine>,
    service: ServiceName,
    events: Events,
    fetches: Arc<Fetches>,
    /// Held while a change is made: ours run one after another.
    changing: tokio::sync::Mutex<()>,
    /// What runs the engine's answers for who may block.
    runtime: Handle,
    reached: Mutex<Reached>,
    regressions: AtomicU64,
    rejected: AtomicU64,
}

/// How often something was wrong with the shared state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// It was behind ours, which was written back.
    pub(crate) regressions: u64,
    /// What the engine held was refused.
    pub(crate) rejected: u64,
}

/// When the shared state was last read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// When it was last found to be the same as ours, or became it; before that, when we started.
    pub(crate) at: Timestamp,
    /// Whether the last try succeeded.
    pub(crate) now: bool,
}

/// Why the shared state cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SharedTrouble {
    /// The engine does not answer in time.
    #[error("the shared state is out of reach: no answer within {} ms", ANSWER.as_millis())]
    Silent,
    /// The engine answers with an error.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What the engine holds is refused; the last good state stays.
    #[error(transparent)]
    Refused(#[from] SharedError),
    /// The system has no random numbers, by which a writer knows its own write again.
    #[error("the system's random generator fails")]
    Random(#[from] getrandom::Error),
    /// Other replicas were always faster.
    #[error("the shared state changes too often; try again")]
    Busy,
}

impl Member {
    pub(super) fn new(control: Control, shared: Arc<Shared>) -> Self {
        Self { control, shared }
    }

    /// When the shared state was last read.
    pub(crate) fn reached(&self) -> Reached {
        *self.shared.lock_reached()
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            regressions: self.shared.regressions.load(Ordering::Relaxed),
            rejected: self.shared.rejected.load(Ordering::Relaxed),
        }
    }

    /// Wants the shared state fetched soon.
    pub(super) fn want(&self) {
        self.shared.fetches.want();
    }

    /// Ready when the shared state has changed from `version`, or somebody wants it fetched.
    pub(crate) async fn changed(&self, version: Option<Version>) -> Result<(), SharedTrouble> {
        let Some(version) = version else {
            self.shared.fetches.wanted().await;
            return Ok(());
        };
        tokio::select! {
            changed = self.shared.engine.changed(version) => {
                changed?;
            }
            () = self.shared.fetches.wanted() => {}
        }
        Ok(())
    }
}

impl Shared {
    /// The engine of a service; to be made where a runtime runs.
    pub(super) fn new(
        engine: Arc<dyn Engine>,
        service: ServiceName,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        Self {
            engine,
            service,
            events: Events::new(Arc::clone(clock)),
            fetches: Arc::default(),
            changing: tokio::sync::Mutex::new(()),
            runtime: Handle::current(),
            reached: Mutex::new(Reached {
                at: clock.now(),
                now: false,
            }),
            regressions: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
        }
    }

    /// Runs `work` where tasks run, and blocks until it is done; `None` if the runtime ends before.
    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // who has gone away gets no answer; the work is done all the same
            let _ = sender.send(work.await);
        });
        receiver.recv().ok()
    }

    /// What the engine answers, if it does in time.
    async fn ask<'a, T>(
        &'a self,
        question: impl FnOnce(&'a dyn Engine) -> EngineFuture<'a, T>,
    ) -> Result<T, SharedTrouble> {
        let answer = timeout(ANSWER, question(&*self.engine)).await;
        Ok(answer.map_err(|_| SharedTrouble::Silent)??)
    }

    /// What has happened at this replica.
    pub(super) fn events(&self) -> &Events {
        &self.events
    }

    pub(super) fn fetches(&self) -> &Arc<Fetches> {
        &self.fetches
    }

    /// Keeps how a try to reach the engine ended, and says so when that has changed.
    fn tried(&self, now: Timestamp, trouble: Option<&SharedTrouble>) {
        let mut reached = self.lock_reached();
        let before = std::mem::replace(&mut reached.now, trouble.is_none());
        match trouble {
            None => {
                reached.at = now;
                if !before {
                    let text = "the shared state is in reach";
                    self.events.info(Kind::Shared, None, text);
                }
            }
            Some(trouble) if before => {
                let text = format!("the shared state is out of reach: {}", with_causes(trouble));
                self.events.warn(Kind::Shared, None, &text);
            }
            Some(_) => {}
        }
    }

    fn lock_reached(&self) -> MutexGuard<'_, Reached> {
        // what is in it is replaced as a whole
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
