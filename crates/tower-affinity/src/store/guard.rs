//! [`GuardedStore`]: a store that cannot hold a request up.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use thiserror::Error;
use tower_affinity_core::{
    Admission, Breaker, BreakerChange, Claim, Clock, LiveCounts, PinStore, RowFault, RowKey,
    SessionId, SessionPin, StoreCall, StoreError, Terms, Timestamp,
};

use super::timer::{Sleep, Timer};
use crate::SystemClock;
use crate::record::{Recorder, StoreOp};

/// How long a request waits for its store by default, over all its calls.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// A store whose calls end in time: after [`PATIENCE`], which all calls of a request share, or at once
/// while a [`Breaker`] is open. What fails is counted, and the request goes on as if there were no
/// store.
#[derive(Clone)]
#[must_use]
pub struct GuardedStore {
    store: Arc<dyn PinStore>,
    timer: Arc<dyn Timer>,
    patience: Duration,
    /// How much of its patience the request has used up that asks.
    waited: Duration,
    watch: Watch,
}

/// What hears how calls end.
#[derive(Clone)]
struct Watch {
    breaker: Arc<Mutex<Breaker>>,
    clock: Arc<dyn Clock>,
    recorder: Recorder,
}

/// Why a call of a store has failed without its answer.
#[derive(Debug, Error)]
enum Failure {
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("the request has waited for it long enough")]
    Spent,
    #[error("it has failed too often to be asked now")]
    Open,
}

impl GuardedStore {
    /// Guards `store` with the default patience and the system's clock.
    pub fn new(store: Arc<dyn PinStore>, timer: impl Timer) -> Self {
        Self {
            store,
            timer: Arc::new(timer),
            patience: PATIENCE,
            waited: Duration::ZERO,
            watch: Watch {
                breaker: Arc::default(),
                clock: Arc::new(SystemClock::new()),
                recorder: Recorder::default(),
            },
        }
    }

    /// How long a request waits for its answers, all together; by default [`PATIENCE`].
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Where the time comes from; by default a [`SystemClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.watch.clock = clock;
        self
    }

    /// What counts calls that failed, and shows from now on whether the store is asked; by default
    /// the global recorder of the `metrics` crate.
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        recorder.store_asked(self.is_asked());
        self.watch.recorder = recorder;
        self
    }

    /// Whether the store is asked as usual, and not left alone because it failed.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.watch.breaker().is_closed()
    }

    fn guard<T: Send + 'static>(
        &self,
        op: StoreOp,
        call: impl FnOnce(&dyn PinStore) -> StoreCall<T>,
    ) -> StoreCall<T> {
        let left = self.patience.saturating_sub(self.waited);
        if left.is_zero() {
            return self.refused(op, Failure::Spent);
        }
        let admission = self.watch.breaker().admit(self.watch.clock.now());
        if admission == Admission::Refused {
            return self.refused(op, Failure::Open);
        }
        match call(&*self.store) {
            StoreCall::Ready(answer) => {
                if let Some(answer) = &answer {
                    self.watch.ended(op, admission, answer);
                }
                StoreCall::Ready(answer)
            }
            StoreCall::Later(answer) => StoreCall::later(Guarded {
                answer,
                left,
                late: self.timer.sleep(left),
                is_first: self.waited.is_zero(),
                op,
                admission,
                watch: self.watch.clone(),
                over: false,
            }),
        }
    }

    fn refused<T>(&self, op: StoreOp, failure: Failure) -> StoreCall<T> {
        self.watch.recorder.store_failed(op);
        StoreCall::failed(StoreError::new(failure))
    }
}

impl Watch {
    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        // it is right after every single change: a panic of another thread has left none half done
        let guard = self.breaker.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    fn ended<T>(&self, op: StoreOp, admission: Admission, answer: &Result<T, StoreError>) {
        if answer.is_err() {
            self.recorder.store_failed(op);
        }
        let now = self.clock.now();
        let mut breaker = self.breaker();
        let change = breaker.ended(admission, answer.is_ok(), now, fastrand::f32());
        drop(breaker);
        match (change, answer) {
            (BreakerChange::Opened, Err(error)) => {
                let cause = std::error::Error::source(error).map(ToString::to_string);
                tracing::error!(
                    cause = cause.unwrap_or_default(),
                    op = op.as_str(),
                    "the store of assignments fails: sessions are served without it"
                );
            }
            (BreakerChange::Closed, _) => tracing::info!("the store of assignments answers again"),
            _ => {}
        }
        if change != BreakerChange::None {
            self.recorder.store_asked(change == BreakerChange::Closed);
        }
    }
}

/// A call under way; who drops it has said nothing about the store.
struct Guarded<T> {
    answer: Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>,
    left: Duration,
    late: Sleep,
    /// Whether the request had not waited before.
    is_first: bool,
    op: StoreOp,
    admission: Admission,
    watch: Watch,
    /// Whether its outcome is known.
    over: bool,
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if !self.over && self.admission == Admission::Try {
            let now = self.watch.clock.now();
            self.watch.breaker().given_up(self.admission, now);
        }
    }
}

impl<T> Future for Guarded<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = match self.answer.as_mut().poll(cx) {
            Poll::Ready(answer) => answer,
            Poll::Pending => match self.late.as_mut().poll(cx) {
                Poll::Ready(()) => {
                    let late = Err(StoreError::new(Failure::Late(self.left)));
                    if !self.is_first {
                        // it had less time than others have, which says nothing about the store
                        self.watch.recorder.store_failed(self.op);
                        return Poll::Ready(late);
                    }
                    late
                }
                Poll::Pending => return Poll::Pending,
            },
        };
        self.watch.ended(self.op, self.admission, &answer);
        self.over = true;
        Poll::Ready(answer)
    }
}

impl PinStore for GuardedStore {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        self.guard(StoreOp::Load, |store| store.load(key, terms))
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        self.guard(StoreOp::Claim, |store| store.claim(claim))
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        self.guard(StoreOp::Replace, |store| store.replace(key, pin, terms))
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        self.guard(StoreOp::Remove, |store| store.remove(key, session))
    }

    fn absent(&self, fault: RowFault) -> u64 {
        self.store.absent(fault)
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        self.store.live(now)
    }

    fn having_waited(&self, waited: Duration) -> Option<Arc<dyn PinStore>> {
        let waited = self.waited + waited;
        Some(Arc::new(Self {
            waited,
            ..self.clone()
        }))
    }

    /// Not guarded: no request waits for it.
    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        self.store.upkeep(now)
    }
}

impl fmt::Debug for GuardedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedStore")
            .field("store", &self.store)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}
