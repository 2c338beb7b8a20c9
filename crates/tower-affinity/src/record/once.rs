//! Whether something is new here: a bounded table of what was there last.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Rows of the table; a key has its place in one of them.
const ROWS: usize = 2_048;

/// Keys of a row; the oldest one makes place.
const KEYS: usize = 32;

/// Remembers the last 65,536 keys or so. A key that was crowded out is new again.
#[derive(Default)]
pub(super) struct Once(OnceLock<Box<[Row]>>);

#[derive(Default)]
struct Row {
    next: AtomicUsize,
    keys: [AtomicU64; KEYS],
}

impl Once {
    /// Whether `key`, a hash, was not there. It is from now on.
    pub(super) fn is_new(&self, key: u64) -> bool {
        let rows = self
            .0
            .get_or_init(|| std::iter::repeat_with(Row::default).take(ROWS).collect());
        // 0 is an empty place
        let key = key.max(1);
        let Some(row) = rows.get(key as usize % ROWS) else {
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
        let again = keys.iter().filter(|key| once.is_new(**key)).count();
        assert!(again < 30, "{again} of 30,000 were forgotten");
    }
}
