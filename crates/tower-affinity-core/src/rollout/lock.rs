//! The lock: an operator keeps a rollout as it is, and only an abort gets through.

use super::{Change, Refusal, Rollout};

impl Rollout {
    /// Whether every change but an abort is refused.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Refuses every change but an abort from now on.
    #[must_use]
    pub fn lock(&self, change: Change) -> Self {
        self.with_lock(true, change)
    }

    /// Ends a lock.
    #[must_use]
    pub fn unlock(&self, change: Change) -> Self {
        self.with_lock(false, change)
    }

    pub(super) fn refuse_if_locked(&self) -> Result<(), Refusal> {
        if self.locked {
            return Err(Refusal::Locked);
        }
        Ok(())
    }

    fn with_lock(&self, locked: bool, change: Change) -> Self {
        if self.locked == locked {
            return self.clone();
        }
        Self {
            locked,
            ..self.next(change)
        }
    }
}
