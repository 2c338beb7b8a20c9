//! Chance, all of it from one seed.

use tower_affinity::core::SessionId;

/// A small generator (splitmix64), which has to give the same course for the same seed for ever.
///
/// Logarithms and the like are those of `libm` and not the platform's, so that all machines agree.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Chance that leaves the course of this one as it is.
    pub(super) fn aside(&self) -> Self {
        let mut aside = Self(!self.0);
        Self(aside.next())
    }

    /// True with that chance.
    pub(super) fn falls_below(&mut self, chance: f64) -> bool {
        self.uniform() < chance
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The id of a session.
    pub(super) fn session(&mut self) -> SessionId {
        SessionId::from_random((u128::from(self.next()) << 64) | u128::from(self.next()))
    }

    /// Exponential with mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// Uniform in (0, 1).
    fn uniform(&mut self) -> f64 {
        // 53 bits fill a double's fraction; the half keeps it away from both ends
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}
