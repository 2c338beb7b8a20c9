//! Whether one stream is cut, and who waits to know.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// One stream's switch.
#[derive(Default)]
pub(super) struct Switch {
    cut: AtomicBool,
    waiting: Mutex<Vec<Option<Waker>>>,
}

impl Switch {
    pub(super) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    /// `false` if it was cut before.
    pub(super) fn cut(&self) -> bool {
        let first = !self.cut.swap(true, Ordering::AcqRel);
        let waiting = std::mem::take(&mut *self.waiting());
        waiting.into_iter().flatten().for_each(Waker::wake);
        first
    }

    /// Has `waker` called at the cut; `slot` is the waiting one's own, from its first call on.
    pub(super) fn wait(&self, slot: &mut Option<usize>, waker: &Waker) {
        let mut waiting = self.waiting();
        let at = *slot.get_or_insert(waiting.len());
        if waiting.len() <= at {
            waiting.resize(at + 1, None);
        }
        if let Some(slot) = waiting.get_mut(at)
            && !slot.as_ref().is_some_and(|known| known.will_wake(waker))
        {
            *slot = Some(waker.clone());
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Option<Waker>>> {
        // wakers are replaced whole: they are right even after another thread panicked
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cut() { "cut" } else { "open" })
    }
}
