//! What is counted of a store of assignments.

use metrics::Label;
use tower_affinity_core::{LiveCounts, PinStore, Rollout, RowFault, Timestamp};

use super::names;
use super::recorder::Recorder;

/// What a store is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreOp {
    /// [`PinStore::load`].
    Load,
    /// [`PinStore::claim`].
    Claim,
    /// [`PinStore::replace`].
    Replace,
    /// [`PinStore::remove`].
    Remove,
}

impl StoreOp {
    /// All of them, for closed label sets.
    pub const ALL: [Self; 4] = [Self::Load, Self::Claim, Self::Replace, Self::Remove];

    /// The word in logs and labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Claim => "claim",
            Self::Replace => "replace",
            Self::Remove => "remove",
        }
    }
}

impl Recorder {
    /// A call of the store has failed, was late, or was not made because too many have.
    pub(crate) fn store_failed(&self, op: StoreOp) {
        let op = Label::from_static_parts("op", op.as_str());
        self.source().count(names::STORE_ERRORS, vec![op], 1);
    }

    /// Shows whether the store is asked as usual.
    pub(crate) fn store_asked(&self, asked: bool) {
        let asked = f64::from(u8::from(asked));
        self.source().set(names::STORE_UP, Vec::new(), asked);
    }

    /// Shows what a store has returned that counts as absent, and how many sessions of each group
    /// it keeps, if that is known: to be called before each scrape.
    pub fn store(&self, store: &dyn PinStore, rollout: &Rollout, now: Timestamp) {
        if let LiveCounts::Known(live) = store.live(now) {
            for group in rollout.groups() {
                let label = Label::new("group", group.name().as_str().to_owned());
                let count = live.of(group.id()) as f64;
                self.source().set(names::STORE_SESSIONS, vec![label], count);
            }
        }
        for fault in RowFault::ALL {
            let count = store.absent(fault);
            if count > 0 {
                let cause = Label::from_static_parts("cause", fault.as_str());
                self.source()
                    .counted(names::STORE_ABSENT, vec![cause], count);
            }
        }
    }
}
