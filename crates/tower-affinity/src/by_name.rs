//! [`ByName`]: tables that every request looks into by the name of its group.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by name. Names come from configuration and tables are bounded, so nobody outside can fill
/// one with names that meet in one place: its hash may be a quick one.
pub(crate) type ByName<K, V> = HashMap<K, V, BuildHasherDefault<NameHasher>>;

/// Folds eight bytes at a time by a multiplication, as wyhash does.
#[derive(Clone, Copy, Default)]
pub(crate) struct NameHasher(u64);

/// An odd number without a pattern in its bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl NameHasher {
    fn fold(&mut self, word: u64) {
        // both halves of the product, so that all bits of the word reach all of the hash
        let product = u128::from(self.0 ^ word) * u128::from(FACTOR);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(8);
        let mut last = 0;
        for byte in words.remainder() {
            last = last << 8 | u64::from(*byte);
        }
        for word in words {
            self.fold(word.try_into().map_or(0, u64::from_le_bytes));
        }
        self.fold(last);
    }

    fn write_u8(&mut self, end: u8) {
        // the end of a text
        self.0 ^= u64::from(end);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::NameHasher;

    /// A table takes its places by the lowest bits and tells neighbours apart by the highest.
    #[test]
    fn names_alike_are_spread_over_a_table() {
        let hash = |name: &str| BuildHasherDefault::<NameHasher>::default().hash_one(name);
        let names: Vec<String> = (0..4_096)
            .flat_map(|n| [format!("{n:07x}"), format!("v1.{n}"), format!("{n:040x}")])
            .collect();
        let hashes: Vec<u64> = names.iter().map(|name| hash(name)).collect();
        let different = |of: fn(u64) -> u64| {
            let values: HashSet<u64> = hashes.iter().map(|hash| of(*hash)).collect();
            values.len()
        };
        assert_eq!(
            different(|hash| hash),
            names.len(),
            "two names have one hash"
        );
        // as many as chance leaves of 12,288 in 65,536 places, within one per cent
        let low = different(|hash| hash & 0xffff);
        assert!(low > 11_000, "{low} places by the lowest bits");
        assert_eq!(different(|hash| hash >> 57), 128, "the highest bits");
    }
}
