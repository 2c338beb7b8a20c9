//! A small seeded generator (splitmix64): tests need the same course for the same seed for ever.

#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number under `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let drawn = self.next() % (bound.max(1) as u64);
        usize::try_from(drawn).unwrap_or_default()
    }

    /// A number from `least` to `most`.
    pub(crate) fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// True in `in_thousand` of 1,000 cases.
    pub(crate) fn chance(&mut self, in_thousand: u64) -> bool {
        self.next() % 1000 < in_thousand
    }

    pub(crate) fn bits(&mut self) -> u128 {
        (u128::from(self.next()) << 64) | u128::from(self.next())
    }
}
