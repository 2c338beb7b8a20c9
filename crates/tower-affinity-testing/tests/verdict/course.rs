//! One rollout step, looked at again and again.

use tower_affinity_core::analysis::{Tally, Verdict};

use crate::chance::{Binomial, Dice};

/// What a method says of canary and stable group.
pub(crate) type Judge = dyn Fn(&Tally, &Tally) -> Verdict;

/// How sessions come to two groups, and fail there.
#[derive(Debug)]
pub(crate) struct Course {
    weight: Binomial,
    canary: Binomial,
    stable: Binomial,
    /// Sessions between two looks, at first.
    step: u64,
    /// By how much the steps grow from look to look.
    growth: f64,
    looks: usize,
}

impl Course {
    /// The canary gets a part `weight` of the sessions; each fails at the rate of its group.
    pub(crate) fn new(weight: f64, canary: f64, stable: f64) -> Self {
        Self {
            weight: Binomial::new(weight),
            canary: Binomial::new(canary),
            stable: Binomial::new(stable),
            step: 100,
            growth: 1.0,
            looks: 200,
        }
    }

    pub(crate) fn looks(self, looks: usize, step: u64) -> Self {
        Self {
            looks,
            step,
            ..self
        }
    }

    pub(crate) fn growing(self, growth: f64) -> Self {
        Self { growth, ..self }
    }

    /// Plays it until the judge says what is waited for; how many sessions there were then.
    pub(crate) fn until(
        &self,
        dice: &mut Dice,
        judge: &Judge,
        is_end: impl Fn(Verdict) -> bool,
    ) -> Option<u64> {
        let (mut canary, mut stable) = (Tally::default(), Tally::default());
        let mut step = self.step as f64;
        for _ in 0..self.looks {
            let sessions = step as u64;
            let to_canary = self.weight.draw(sessions, dice);
            canary = canary.merge(begun(to_canary, &self.canary, dice));
            stable = stable.merge(begun(sessions - to_canary, &self.stable, dice));
            if is_end(judge(&canary, &stable)) {
                return Some(canary.sessions + stable.sessions);
            }
            step *= self.growth;
        }
        None
    }

    /// The part of `runs` that ever end.
    pub(crate) fn share(
        &self,
        runs: u64,
        judge: &Judge,
        is_end: impl Fn(Verdict) -> bool + Copy,
    ) -> f64 {
        let ended = (0..runs).filter(|&run| {
            let mut dice = Dice::new(run << 32 | 0x5eed);
            self.until(&mut dice, judge, is_end).is_some()
        });
        ended.count() as f64 / runs as f64
    }
}

fn begun(sessions: u64, failing: &Binomial, dice: &mut Dice) -> Tally {
    Tally {
        sessions,
        failed: failing.draw(sessions, dice),
        ..Tally::default()
    }
}

/// What an equal canary must not be called.
pub(crate) fn is_alarm(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Worse | Verdict::Better)
}
