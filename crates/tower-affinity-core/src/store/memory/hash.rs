//! How keys are hashed: fast, and so that nobody outside can make keys that collide.

use std::hash::{BuildHasher, RandomState};

/// A hash of keys with a secret of its own, so that who chooses what a key is made of, for example a
/// user's name, cannot tell which ones collide.
#[derive(Debug)]
pub(super) struct KeyHash([u64; 3]);

impl KeyHash {
    pub(super) fn new() -> Self {
        Self([0_u8, 1, 2].map(|nth| RandomState::new().hash_one(nth)))
    }

    /// Both halves are hidden by the secret and multiplied; the halves of the product, in which every
    /// bit depends on many, are folded.
    pub(super) fn of(&self, (is_named, bits): (bool, u128)) -> u64 {
        let [low, high, last] = self.0;
        let low = bits as u64 ^ low;
        let high = (bits >> 64) as u64 ^ high;
        fold(fold(low, high) ^ u64::from(is_named), last | 1)
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a hash that a table looks at first: the lowest bits and the seven highest.
    fn spread(keys: impl Iterator<Item = (bool, u128)>) -> u64 {
        let hash = KeyHash::new();
        let mut places = vec![0_u64; 1 << 10];
        let mut tops = vec![0_u64; 1 << 7];
        for key in keys {
            let hash = hash.of(key);
            places[hash as usize % (1 << 10)] += 1;
            tops[(hash >> 57) as usize] += 1;
        }
        let most = |counts: &[u64], share: u64| counts.iter().max().unwrap() * 100 / share;
        most(&places, 100).max(most(&tops, 800))
    }

    #[test]
    fn keys_are_spread_whatever_their_pattern() {
        // 102,400 keys: 100 a place, 800 a top, and by chance up to half more
        for (name, worst) in [
            ("low bits", spread((0..102_400).map(|n| (false, n)))),
            ("high bits", spread((0..102_400).map(|n| (true, n << 108)))),
            ("both", spread((0..102_400).map(|n| (false, n << 64 | n)))),
            (
                "either kind",
                spread((0..102_400).map(|n| (n % 2 == 0, n / 2))),
            ),
        ] {
            assert!(
                worst < 160,
                "{name}: {worst} % of an even share in one place"
            );
        }
    }
}
