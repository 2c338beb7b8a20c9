//! The value of one session.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

/// A value that readers take as it is, and that one writer at a time replaces.
pub(super) struct Cell<T> {
    value: ArcSwap<T>,
    /// Held by an update, so that none is lost.
    turn: Mutex<()>,
}

impl<T> Cell<T> {
    pub(super) fn new(value: Arc<T>) -> Self {
        Self {
            value: ArcSwap::new(value),
            turn: Mutex::new(()),
        }
    }

    pub(super) fn value(&self) -> Arc<T> {
        self.value.load_full()
    }

    /// Changes a copy and puts it in the place of the value: if `change` panics, nothing has changed.
    pub(super) fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R
    where
        T: Clone,
    {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut value = T::clone(&self.value.load_full());
        let result = change(&mut value);
        let former = self.value.swap(Arc::new(value));
        drop(turn);
        // here may be the last holder, whose drop is the application's code
        drop(former);
        result
    }
}
