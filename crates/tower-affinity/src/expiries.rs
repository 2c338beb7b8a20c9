//! [`Expiries`]: until when a pin to each group can be valid.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tower_affinity_core::{GroupId, Rollout, Timestamp};

/// The latest expiry of all pins to each group that were issued or obeyed here: a cheap handle that
/// layers feed, and that says when a draining group is drained
/// ([`Rollout::drained_after`](tower_affinity_core::Rollout::drained_after)).
///
/// ```
/// use tower_affinity::{AffinityLayer, Expiries};
///
/// let expiries = Expiries::default();
/// let affinity = AffinityLayer::builder().expiries(expiries.clone()); // and what else it needs
/// # let _ = affinity;
/// ```
#[derive(Clone, Default)]
pub struct Expiries(Arc<Shared>);

#[derive(Default)]
struct Shared {
    table: ArcSwap<Table>,
    /// Held while the table grows or shrinks.
    changing: Mutex<()>,
}

/// Milliseconds since the Unix epoch. There are as few as there are groups.
type Table = Vec<(GroupId, Arc<AtomicU64>)>;

impl Expiries {
    /// A pin to `id` may be valid until `expires`. What is known to be later stays.
    pub fn note(&self, id: &GroupId, expires: Timestamp) {
        let expires = expires.as_millis();
        let raise = |table: &Table| {
            let latest = find(table, id);
            latest.is_some_and(|latest| {
                // most pins are not the latest: no need to write on every request
                if latest.load(Ordering::SeqCst) < expires {
                    latest.fetch_max(expires, Ordering::SeqCst);
                }
                true
            })
        };
        if raise(&self.0.table.load()) {
            return;
        }
        let _changing = self
            .0
            .changing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut table = Table::clone(&self.0.table.load());
        if !raise(&table) {
            table.push((id.clone(), Arc::new(AtomicU64::new(expires))));
            self.0.table.store(Arc::new(table));
        }
    }

    /// The latest expiry of a pin to `id`; `None` if there was none.
    #[must_use]
    pub fn latest(&self, id: &GroupId) -> Option<Timestamp> {
        find(&self.0.table.load(), id).map(read)
    }

    /// All groups that a pin was issued to or obeyed for, by name and generation.
    #[must_use]
    pub fn all(&self) -> Vec<(GroupId, Timestamp)> {
        let table = self.0.table.load();
        let mut all: Vec<_> = table
            .iter()
            .map(|(id, latest)| (id.clone(), read(latest)))
            .collect();
        all.sort_by(|(a, _), (b, _)| (a.name(), a.generation()).cmp(&(b.name(), b.generation())));
        all
    }

    /// Forgets the groups that `rollout` does not remember any more.
    pub fn retain(&self, rollout: &Rollout) {
        let _changing = self
            .0
            .changing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut table = Table::clone(&self.0.table.load());
        table.retain(|(id, _)| rollout.ids().any(|known| known == id));
        self.0.table.store(Arc::new(table));
    }
}

fn find<'a>(table: &'a Table, id: &GroupId) -> Option<&'a Arc<AtomicU64>> {
    let known = table.iter().find(|(known, _)| known == id);
    known.map(|(_, latest)| latest)
}

fn read(latest: &Arc<AtomicU64>) -> Timestamp {
    Timestamp::from_millis(latest.load(Ordering::SeqCst))
}

impl fmt::Debug for Expiries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.all()).finish()
    }
}

#[cfg(test)]
mod tests {
    use tower_affinity_testing::{id, rollout};

    use super::*;

    #[test]
    fn the_latest_expiry_of_each_generation_is_kept() {
        let expiries = Expiries::default();
        assert_eq!(expiries.latest(&id("A")), None);
        for secs in [7, 9, 8] {
            expiries.note(&id("A"), Timestamp::from_secs(secs));
        }
        assert_eq!(expiries.latest(&id("A")), Some(Timestamp::from_secs(9)));
        assert_eq!(
            expiries.latest(&GroupId::new(id("A").name().clone(), 2)),
            None
        );
    }

    #[test]
    fn what_the_rollout_forgot_is_forgotten() {
        let expiries = Expiries::default();
        for group in ["A", "B", "X"] {
            expiries.note(&id(group), Timestamp::from_secs(9));
        }
        expiries.retain(&rollout(1, &[("B", 1), ("A", 1)]));
        let left: Vec<_> = expiries.all().into_iter().map(|(id, _)| id).collect();
        assert_eq!(left, [id("A"), id("B")]);
    }
}
