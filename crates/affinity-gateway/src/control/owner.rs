//! [`Owner`]: which process may write the state file.

use std::sync::atomic::{AtomicU8, Ordering};

/// Who owns the state file, as this process knows it. At any time at most one process writes it.
#[derive(Debug, Default)]
pub(super) struct Owner(AtomicU8);

const THIS: u8 = 0;
/// This process has written its last state for another one.
const SEALED: u8 = 1;
/// Another process does, which is being taken over.
const ANOTHER: u8 = 2;

impl Owner {
    pub(super) fn another() -> Self {
        Self(AtomicU8::new(ANOTHER))
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.0.load(Ordering::Acquire) == SEALED
    }

    pub(super) fn is_another(&self) -> bool {
        self.0.load(Ordering::Acquire) == ANOTHER
    }

    pub(super) fn seal(&self) {
        self.0.store(SEALED, Ordering::Release);
    }

    /// From now on this process.
    pub(super) fn take(&self) {
        self.0.store(THIS, Ordering::Release);
    }
}
