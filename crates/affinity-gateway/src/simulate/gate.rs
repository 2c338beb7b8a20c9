//! `gate = "no_worse"`: a step goes on until the verdict is in.
//!
//! How long that takes is found out before the step is played, as for a group that drains: the
//! sessions that will begin are drawn from a copy of what brings them.

use tower_affinity::core::analysis::{Comparison, Tally, Terms, Verdict, compare, verdict};
use tower_affinity::core::{Group, Rollout, Timestamp};

use super::asking::Asking;
use super::dice::Dice;
use super::failures::Failures;
use super::play::Play;
use super::session::{Phase, Session};

/// How a gate ended.
#[derive(Clone, Debug)]
pub(super) struct Gated {
    /// When.
    pub(super) at: Timestamp,
    /// The verdict on all canaries together.
    pub(super) verdict: Verdict,
    /// What was seen of each group by then, in the order of [`super::rules::Rules::ids`].
    pub(super) tallies: Vec<Tally>,
}

impl Play<'_> {
    /// Lets sessions begin from now on, until there is a verdict at `held` or later, a canary is
    /// worse, or [`MOST`] have begun.
    pub(super) fn gate(
        &self,
        rollout: &Rollout,
        failures: &Failures,
        terms: &Terms,
        held: Timestamp,
    ) -> Gated {
        let phase = Phase {
            rules: &self.rules,
            rollout,
            think: self.plan.traffic.think,
            from: self.now,
            until: Timestamp::from_millis(u64::MAX),
        };
        let rates = self.rules.ids.iter();
        let rates: Vec<_> = rates.map(|id| failures.rate(id.name())).collect();
        let mut tallies = vec![Tally::default(); rates.len()];
        let mut asking = Asking::new();
        let mut arrivals = self.arrivals.clone();
        let (mut at, mut seen) = (self.now, 0_u64);
        let mut verdict = Verdict::NotEnoughYet;
        while let Some((begun, dice)) = arrivals.before(phase.until) {
            let is_due = at < held && begun >= held;
            if seen.is_multiple_of(LOOK) || is_due {
                at = begun;
                verdict = self.verdict(rollout, &tallies, terms);
                let passed = verdict.passes() && begun >= held;
                if passed || verdict == Verdict::Worse || seen >= MOST {
                    break;
                }
            }
            at = begun;
            seen += 1;
            let mut chance = dice.aside();
            // with its length, so that it is the session that will be played
            let length = |dice: &mut Dice| begun.plus(self.plan.traffic.length.draw(dice));
            let mut session = Session::new(dice, begun, length);
            let decision = asking.ask(&phase, &mut session, begun);
            let group = decision.and_then(|decision| self.rules.place(&decision.group?));
            let group = group.and_then(|place| tallies.get_mut(place).zip(rates.get(place)));
            if let Some((tally, rate)) = group {
                tally.sessions += 1;
                tally.failed += u64::from(chance.falls_below(*rate));
            }
        }
        Gated {
            at,
            verdict,
            tallies,
        }
    }

    fn verdict(&self, rollout: &Rollout, tallies: &[Tally], terms: &Terms) -> Verdict {
        let of = |group: &Group| tallies.get(self.rules.place(group.id())?);
        let stable = rollout.group(rollout.stable()).and_then(of);
        let verdicts = rollout.canaries().filter_map(|group| {
            let (canary, stable) = (of(group)?, stable?);
            Some(verdict(canary, stable, terms))
        });
        verdicts
            .reduce(Verdict::and)
            .unwrap_or(Verdict::NotEnoughYet)
    }

    /// Each canary beside the stable group.
    pub(super) fn comparisons<'r>(
        &self,
        rollout: &'r Rollout,
        tallies: &[Tally],
        terms: &Terms,
    ) -> Vec<(&'r Group, Tally, Comparison)> {
        let of = |group: &Group| tallies.get(self.rules.place(group.id())?).copied();
        let stable = rollout.group(rollout.stable()).and_then(of);
        let stable = stable.unwrap_or_default();
        let compared = rollout.canaries().filter_map(|group| {
            let tally = of(group)?;
            Some((group, tally, compare(&tally, &stable, terms)))
        });
        compared.collect()
    }
}

/// Sessions between two looks.
const LOOK: u64 = 100;

/// Nobody waits for the verdict on so many sessions.
const MOST: u64 = 5_000_000;
