//! [`Mixture`]: how far from the truth a difference can be, at every look.

/// The mixture of likelihood ratios over a normal distribution of differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixture {
    /// The standard deviation of that distribution.
    pub(super) width: f64,
    /// The chance that a difference is ever further from the truth.
    pub(super) alpha: f64,
}

impl Mixture {
    /// The square of how far from the truth a difference of this variance is at most.
    pub(super) fn reach(self, variance: f64) -> f64 {
        if variance <= 0.0 {
            return 0.0;
        }
        let spread = self.width * self.width;
        let bound = libm::log1p(spread / variance) - 2.0 * libm::log(self.alpha);
        variance * (variance + spread) / spread * bound
    }

    /// The greatest variance under which a difference is told from one that is `apart`.
    pub(super) fn variance(self, apart: f64) -> f64 {
        let (mut told, mut not_told) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(told, not_told);
            match self.reach(middle) < apart * apart {
                true => told = middle,
                false => not_told = middle,
            }
        }
        told
    }
}

/// Variances are far above what is left of 1 then.
const HALVINGS: u32 = 80;
