//! [`Seen`]: the difference of two rates as it was seen.

/// How many of the sessions of a group had an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) events: u64,
    pub(super) sessions: u64,
}

impl Share {
    pub(super) fn rate(self) -> Option<f64> {
        (self.sessions > 0).then(|| self.events as f64 / self.sessions as f64)
    }

    /// The sessions that had none.
    pub(super) const fn the_rest(self) -> Self {
        Self {
            events: self.sessions.saturating_sub(self.events),
            sessions: self.sessions,
        }
    }
}

/// What was seen of two groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// The canary's rate minus the stable group's.
    pub(super) difference: f64,
    canary: f64,
    stable: f64,
    /// The rate of both together; never 0 or 1.
    rate: f64,
}

impl Seen {
    pub(super) fn of(canary: Share, stable: Share) -> Option<Self> {
        let (n, m) = (canary.sessions as f64, stable.sessions as f64);
        let events = canary.events as f64 + stable.events as f64;
        Some(Self {
            difference: canary.rate()? - stable.rate()?,
            canary: n,
            stable: m,
            rate: (events + 1.0) / (n + m + 2.0),
        })
    }

    /// The variance of the difference if the true one were `truth`.
    pub(super) fn variance(&self, truth: f64) -> f64 {
        let part = self.canary / (self.canary + self.stable);
        let of = |rate: f64| {
            let rate = rate.clamp(0.0, 1.0);
            rate * (1.0 - rate)
        };
        of(self.rate + (1.0 - part) * truth) / self.canary
            + of(self.rate - part * truth) / self.stable
    }
}
