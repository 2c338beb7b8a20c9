//! The decision of one request, and the wish for a newer state.

use std::rc::Rc;

use tower_affinity_core::{
    Inputs, LiveCounts, Newer, Outcome, Presented, SessionId, Shown, Timestamp,
};

use super::{Ask, Decided};
use crate::sim::Violation;
use crate::sim::ledger::Entry;
use crate::sim::names::Millis;
use crate::sim::oracle::{Home, Sight};
use crate::sim::place;
use crate::sim::world::{Check, Event, Source, World};

impl World<'_> {
    pub(crate) fn decide(
        &mut self,
        ask: &Ask,
        mut shown: Shown,
        entry: Option<&Entry>,
        at: Timestamp,
        right_now: Millis,
    ) -> Check<Decided> {
        let (replica, policy) = (ask.replica, ask.policy);
        let codec = self.codec(replica);
        let token = ask.grant.as_ref().map(|grant| grant.token.as_bytes());
        let mut chosen = token.and_then(|t| self.parts.open_override(&codec, t, at).ok());
        let mut state = Rc::clone(&self.replicas[replica].state);
        let fresh = SessionId::from_random(self.dice.bits());
        let view = self.replicas[replica].view();
        let mut newer = Newer::Unasked;
        let mut asked = 0;
        let decision = loop {
            if let Shown::Pin(pin) = &mut shown {
                state
                    .codes(self.replicas[replica].epoch, &codec)
                    .resolve(pin);
                place::resolve(&codec, &view, pin);
                self.note_pin(replica, pin);
            }
            if let Some(chosen) = &mut chosen {
                let codes = state.codes(self.replicas[replica].epoch, &codec);
                codes.resolve_override(chosen);
            }
            let presented = Presented {
                shown: shown.clone(),
                chosen: chosen.clone(),
                ..Presented::default()
            };
            let outcome = self.parts.decide(&Inputs {
                presented: &presented,
                policy: Some(&policy),
                rollout: &state.rollout,
                ready: &view,
                live: &LiveCounts::Unknown,
                salt: &self.salt,
                serving: None,
                now: at,
                fresh: &|| fresh,
                newer,
            });
            match outcome {
                Outcome::Decided(decision) => break decision,
                Outcome::Behind(_) if asked == 2 => {
                    return Violation::of(
                        "one answer",
                        "a replica that has asked asks again".to_owned(),
                    );
                }
                Outcome::Behind(revision) => {
                    asked += 1;
                    newer = self.ask(replica, revision.0, right_now)?;
                    if newer == Newer::Unasked {
                        state = Rc::clone(&self.replicas[replica].state);
                    }
                }
            }
        };
        if let Some(pin) = decision.pin.as_ref().filter(|_| decision.issue) {
            self.note_pin(replica, pin);
        }
        let own = state.rollout.revision().0;
        if let Some(entry) = entry.filter(|entry| entry.revision > own) {
            match self.source {
                Source::Files => self.raise(replica, entry.revision)?,
                Source::Engine => {
                    self.fall_behind(replica, entry.revision, right_now);
                    if self.dice.chance(500) {
                        let delay = self.dice.within(0, 50);
                        self.after(delay, Event::Reread(replica));
                    }
                }
            }
        }
        let behind_since = match newer {
            Newer::Unproven { behind_since } => behind_since.as_millis(),
            _ => right_now,
        };
        let sight = Sight {
            now: right_now,
            down: view.down,
            endpoints: view.endpoints,
            proved: newer == Newer::Proved,
            behind_since,
        };
        let mut decided = Decided {
            decision,
            state,
            at,
            waited: matches!(newer, Newer::Unproven { .. }),
            home: Home::default(),
            recorded: None,
        };
        decided.home = self.check_decision(ask, entry, &decided, &sight)?;
        Ok(decided)
    }

    /// A pin has shown that there is a newer state: the replica asks for it.
    pub(crate) fn ask(&mut self, replica: usize, revision: u64, now: Millis) -> Check<Newer> {
        if self.source == Source::Files {
            self.raise(replica, revision)?;
            return Ok(Newer::Proved);
        }
        let since = self.fall_behind(replica, revision, now);
        if !self.is_cut(replica) && self.dice.chance(500) {
            self.sync(replica)?;
            self.trace.reached.fetched_because_of_a_pin += 1;
            return Ok(Newer::Unasked);
        }
        Ok(Newer::Unproven {
            behind_since: Timestamp::from_millis(since),
        })
    }

    pub(crate) fn fall_behind(&mut self, replica: usize, revision: u64, now: Millis) -> Millis {
        let shown = &mut self.replicas[replica].shown;
        *shown = revision.max(*shown);
        let (most, _) = self.replicas[replica].behind.get_or_insert((revision, now));
        *most = revision.max(*most);
        self.replicas[replica]
            .behind
            .map_or(now, |(_, since)| since)
    }
}
