//! One session: which of its requests can be decided in another way than the one before.

use std::time::Duration;

use tower_affinity::core::{Decision, DrawKey, Kind, Rollout, SessionPin, Timestamp};

use super::asking::Asking;
use super::dice::Dice;
use super::rules::Rules;
use super::spread::Think;
use super::tally::Tally;

/// A session whose client goes on to send requests until `ends`.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) dice: Dice,
    /// What a keyed scope draws by.
    user: u64,
    begun: Timestamp,
    pub(super) ends: Timestamp,
    pub(super) pin: Option<SessionPin>,
    /// The number of the group that it is pinned to.
    pub(super) place: Option<usize>,
}

/// A span in which nothing but its own pin changes how a session is decided.
pub(super) struct Phase<'a> {
    pub(super) rules: &'a Rules,
    pub(super) rollout: &'a Rollout,
    pub(super) think: Think,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

impl Session {
    pub(super) fn new(
        mut dice: Dice,
        begun: Timestamp,
        length: impl FnOnce(&mut Dice) -> Timestamp,
    ) -> Self {
        let user = dice.next();
        let ends = length(&mut dice);
        Self {
            dice,
            user,
            begun,
            ends,
            pin: None,
            place: None,
        }
    }

    /// Plays the session in a phase; answers whether it goes on after that.
    ///
    /// Its first request in the phase is decided, since the rollout may be another one than before.
    /// After that only those are that could be decided in another way than the one before: the
    /// first one at which the pin is due for its renewal, or has all the time it can have and is
    /// over. Whatever comes between shows the same pin to the same rollout: it is obeyed, and
    /// changes nothing.
    pub(super) fn play(
        &mut self,
        phase: &Phase<'_>,
        asking: &mut Asking,
        tally: &mut Tally,
    ) -> bool {
        let limit = self.ends.min(phase.until);
        let mut from = phase.from.max(self.begun);
        loop {
            let at = match &self.pin {
                None => self.begun,
                Some(_) if from >= limit => limit,
                Some(_) => phase.think.first(self.begun, from, &mut self.dice),
            };
            self.lapse(at.min(limit), tally);
            if at >= limit {
                if self.ends <= phase.until {
                    tally.over(self.place, self.ends);
                    return false;
                }
                return true;
            }
            let decision = asking.ask(phase, self, at);
            if !decision.is_some_and(|decision| self.take(decision, phase.rules, at, tally)) {
                return false;
            }
            from = self
                .changes(phase.rules)
                .max(at.plus(Duration::from_millis(1)));
        }
    }

    /// Leaves its group if its pin is over by `at`.
    pub(super) fn lapse(&mut self, at: Timestamp, tally: &mut Tally) {
        if let Some(pin) = &self.pin
            && pin.expires <= at
            && let Some(group) = self.place.take()
        {
            tally.lapsed(group, pin.expires);
        }
    }

    /// The time from which a request can be decided in another way than the last one.
    fn changes(&self, rules: &Rules) -> Timestamp {
        let Some(pin) = &self.pin else {
            return self.begun;
        };
        let due = pin.issued.plus(rules.policy.lifetimes.idle() / 4);
        // what has all its time is never renewed
        if pin.is_due(due, rules.policy.lifetimes) {
            due
        } else {
            pin.expires
        }
    }

    /// Takes what was decided; answers whether the session goes on.
    pub(super) fn take(
        &mut self,
        decision: Decision,
        rules: &Rules,
        at: Timestamp,
        tally: &mut Tally,
    ) -> bool {
        let group = decision.group.as_ref().and_then(|group| rules.place(group));
        match decision.kind {
            Kind::Assigned => tally.assigned(group, at),
            Kind::Moved => tally.moved(self.place, group, at),
            Kind::Pinned => {}
            Kind::Refused | Kind::Overridden | Kind::Bypassed => {
                tally.refused(self.place, at);
                return false;
            }
        }
        self.place = group;
        if decision.issue || rules.streaming {
            let pin = decision.pin.map(|pin| match rules.streaming {
                true => pin.streaming(rules.policy.lifetimes),
                false => pin,
            });
            if let Some(pin) = &pin {
                tally.issued(group, pin.expires);
            }
            self.pin = pin;
        }
        true
    }

    pub(super) fn key(&self, rules: &Rules) -> Option<DrawKey> {
        rules
            .keyed
            .then(|| rules.salt.key(&self.user.to_be_bytes()))
    }
}
