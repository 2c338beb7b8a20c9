//! Whether something is new here: a bounded table of what was there last.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Rows of the table; a key has its place in one of them.
const ROWS: usize = 2_048;

/// Keys of a row; the oldest one makes place.
const KEYS: usize = 32;

/// Remembers the last 65,536 keys or so. A key that was crowded out is new again; which ones crowd each
/// other nobody outside can know, so nobody can choose some that do.
#[derive(Default)]
pub(super) struct Once(OnceLock<Table>);

struct Table {
    secret: Secret,
    rows: Box<[Row]>,
}

#[derive(Default)]
struct Row {
    next: AtomicUsize,
    keys: [AtomicU64; KEYS],
}

/// What keys are mixed with. They are random bits already, which a client can only draw again: one
/// multiplication is enough to hide their places.
struct Secret {
    mask: u64,
    factor: u64,
}

impl Secret {
    fn new() -> Self {
        let drawn = RandomState::new();
        Self {
            mask: drawn.hash_one(0),
            factor: drawn.hash_one(1) | 1,
        }
    }

    fn hash(&self, key: u64) -> u64 {
        let product = u128::from(key ^ self.mask) * u128::from(self.factor);
        product as u64 ^ (product >> 64) as u64
    }
}

impl Once {
    /// Whether `key` was not there. It is from now on.
    pub(super) fn is_new(&self, key: u64) -> bool {
        let table = self.0.get_or_init(|| Table {
            secret: Secret::new(),
            rows: std::iter::repeat_with(Row::default).take(ROWS).collect(),
        });
        // 0 is an empty place
        let key = table.secret.hash(key).max(1);
        let Some(row) = table.rows.get(key as usize % ROWS) else {
            return false;
        };
        if row
            .keys
            .iter()
            .any(|known| known.load(Ordering::Relaxed) == key)
        {
            return false;
        }
        let place = row.next.fetch_add(1, Ordering::Relaxed) % KEYS;
        if let Some(place) = row.keys.get(place) {
            place.store(key, Ordering::Relaxed);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_once() {
        let once = Once::default();
        let keys: Vec<u64> = (0..30_000)
            .map(|n| fastrand::Rng::with_seed(n).u64(..))
            .collect();
        assert!(keys.iter().all(|key| once.is_new(*key)));
        // a row that is full forgets all of its 32 in turn, and chance fills one now and then
        let again = keys.iter().filter(|key| once.is_new(**key)).count();
        assert!(again < 300, "{again} of 30,000 were forgotten");
    }

    #[test]
    fn keys_that_are_chosen_do_not_crowd_each_other() {
        let once = Once::default();
        // of one row, were it theirs to choose
        let keys: Vec<u64> = (1..1_000).map(|n| n * ROWS as u64).collect();
        assert!(keys.iter().all(|key| once.is_new(*key)));
        let again = keys.iter().filter(|key| once.is_new(**key)).count();
        assert_eq!(again, 0, "of 999");
    }
}
