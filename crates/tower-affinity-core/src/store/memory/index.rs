//! The index of a shard: which row has a key, by its hash.
//!
//! A bucket is one cache line, with as much of the hashes in it as tells almost all rows apart: so a
//! lookup waits for memory once here, and once for the row. All buckets are made with the first row.
//! There are enough for a full shard, so nothing is ever filed anew.

use super::chunked::Number;

/// How many rows a bucket has room for.
const PLACES: usize = 15;

/// How many rows of a full shard a bucket holds on average: one in ten or so passes some on.
const USUAL: usize = 11;

#[derive(Debug)]
pub(super) struct Index {
    buckets: Vec<Bucket>,
    capacity: usize,
    len: usize,
}

/// Where rows are whose hash leads here, or to a bucket before this one that was full.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket {
    places: [Option<Place>; PLACES],
    /// How many rows are in buckets behind this one that were to be here, or had passed it.
    passed: u32,
}

/// A row and what its hash ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    tag: u16,
    row: Number,
}

impl Index {
    /// An empty index for at most `capacity` rows.
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            buckets: Vec::new(),
            capacity,
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The row with this hash which `is_same`.
    pub(super) fn find(&self, hash: u64, is_same: impl Fn(Number) -> bool) -> Option<Number> {
        for nth in self.way(hash) {
            let bucket = self.buckets.get(nth)?;
            if let Some(row) = bucket.find(hash as u16, &is_same) {
                return Some(row);
            }
            if bucket.passed == 0 {
                break;
            }
        }
        None
    }

    /// Adds a row that is not in it.
    pub(super) fn insert(&mut self, hash: u64, row: Number) {
        if self.buckets.is_empty() {
            let buckets = self.capacity.div_ceil(USUAL).max(1);
            self.buckets = vec![Bucket::default(); buckets];
        }
        let place = Place {
            tag: hash as u16,
            row,
        };
        for nth in self.way(hash) {
            let Some(bucket) = self.buckets.get_mut(nth) else {
                break;
            };
            if bucket.put(place) {
                self.len += 1;
                return;
            }
            bucket.passed += 1;
        }
        debug_assert!(false, "more rows than the index has room for");
    }

    /// Takes a row out that is in it.
    pub(super) fn remove(&mut self, hash: u64, row: Number) {
        let place = Place {
            tag: hash as u16,
            row,
        };
        for nth in self.way(hash) {
            let Some(bucket) = self.buckets.get_mut(nth) else {
                break;
            };
            if bucket.take(place) {
                self.len -= 1;
                return;
            }
            bucket.passed -= 1;
        }
        debug_assert!(false, "the index has lost a row");
    }

    /// The buckets that a row may be in: its own, and all others behind it.
    fn way(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let buckets = self.buckets.len();
        // the upper half, as a share of all buckets
        let home = (((hash >> 32) * buckets as u64) >> 32) as usize;
        (home..buckets).chain(0..home)
    }
}

impl Bucket {
    fn find(&self, tag: u16, is_same: impl Fn(Number) -> bool) -> Option<Number> {
        let places = self.places.iter().flatten();
        let mut rows = places
            .filter(|place| place.tag == tag)
            .map(|place| place.row);
        rows.find(|row| is_same(*row))
    }

    /// Whether there was room.
    fn put(&mut self, place: Place) -> bool {
        let free = self.places.iter_mut().find(|other| other.is_none());
        free.is_some_and(|free| {
            *free = Some(place);
            true
        })
    }

    /// Whether it was here.
    fn take(&mut self, place: Place) -> bool {
        let mut places = self.places.iter_mut();
        let taken = places.find(|other| **other == Some(place));
        taken.is_some_and(|taken| taken.take().is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::chunked::Chunked;
    use super::*;

    #[test]
    fn a_bucket_is_a_cache_line() {
        assert_eq!((size_of::<Bucket>(), align_of::<Bucket>()), (64, 64));
    }

    /// Puts rows in and takes them out at random, `of` whose numbers makes their hashes.
    fn play(capacity: usize, of: impl Fn(u64) -> u64) {
        let mut numbers = Chunked::new();
        let rows: Vec<Number> = (0..capacity).map(|_| numbers.push(())).collect();
        let mut index = Index::new(capacity);
        let mut there: HashMap<usize, u64> = HashMap::new();
        let mut state = 7_u64;
        for step in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let nth = (state >> 33) as usize % capacity;
            let hash = of(nth as u64);
            let found = index.find(hash, |row| row == rows[nth]).is_some();
            assert_eq!(found, there.contains_key(&nth), "row {nth} at step {step}");
            // it fills up first, and is emptied again
            let fills = step % 8_000 < 5_000;
            if !found && (fills || step % 3 == 0) {
                index.insert(hash, rows[nth]);
                there.insert(nth, hash);
            } else if found && (!fills || step % 3 == 0) {
                index.remove(hash, rows[nth]);
                there.remove(&nth);
            }
            assert_eq!(index.len(), there.len());
        }
        for (nth, hash) in there {
            index.remove(hash, rows[nth]);
        }
        let passed: u32 = index.buckets.iter().map(|bucket| bucket.passed).sum();
        assert_eq!((index.len(), passed), (0, 0), "something was left behind");
    }

    #[test]
    fn rows_are_found_until_they_are_removed() {
        let spread = |nth: u64| (nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for capacity in [1, 15, 16, 1_000] {
            play(capacity, spread);
        }
    }

    #[test]
    fn rows_whose_hashes_are_the_same_are_told_apart() {
        // all pass the end of the buckets on
        play(300, |_| u64::MAX);
        play(300, |nth| (nth % 3) << 62);
    }
}
