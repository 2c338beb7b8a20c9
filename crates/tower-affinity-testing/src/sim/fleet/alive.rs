//! Replicas that crash, leave in good order, come back, and are forgotten.

use std::rc::Rc;

use tower_affinity_core::{ReplicaRecord, Timestamp};

use crate::sim::names::{Millis, SKEW, TA};
use crate::sim::world::{Check, Event, Source, World};

impl World<'_> {
    pub(crate) fn is_gone(&self, replica: usize) -> bool {
        self.replicas[replica].gone
    }

    /// A replica crashes: it is back at once, or after a while.
    pub(crate) fn crash(&mut self, at: usize) -> Check {
        let lost = self.flights.values().any(|flight| flight.replica == at);
        self.trace.reached.crash_with_requests_in_flight += u64::from(lost);
        self.end(at);
        let own = &mut self.replicas[at];
        own.expiries = own.kept.clone();
        own.crashed = true;
        if self.may_go(at) && self.dice.chance(400) {
            self.go(at);
            return Ok(());
        }
        self.start(at)
    }

    /// A replica leaves in good order: its last word is its last act.
    pub(crate) fn leave(&mut self, at: usize) {
        if self.is_cut(at) || !self.may_go(at) {
            return;
        }
        self.end(at);
        self.said[at] = Some(self.say(at, true));
        self.trace.tell(|| format!("replica {at} leaves"));
        self.go(at);
    }

    /// Somebody serves, and the others are told of it by the engine.
    fn may_go(&self, at: usize) -> bool {
        let mut others = (0..self.replicas.len()).filter(|other| *other != at);
        self.source == Source::Engine && others.any(|other| !self.is_gone(other))
    }

    fn end(&mut self, at: usize) {
        let own = &mut self.replicas[at];
        own.lives += 1;
        own.behind = None;
        own.shown = 0;
        own.blind = None;
        own.says_drained.clear();
    }

    fn go(&mut self, at: usize) {
        self.replicas[at].gone = true;
        let away = self.dice.within(1_000, 2 * TA.as_millis() as Millis);
        self.after(away, Event::Start(at));
    }

    /// A replica begins with what its file and the engine have of it.
    pub(crate) fn start(&mut self, at: usize) -> Check {
        let until = self.clock(at).plus(TA);
        let own = &mut self.replicas[at];
        own.gone = false;
        own.heard.clear();
        own.heard_at = Timestamp::default();
        if std::mem::take(&mut own.crashed) {
            own.expiries.lose(&own.state.rollout, until);
        }
        let record = match self.source {
            // the only one has put the end of new sessions in force when it was ordered
            Source::Files => None,
            Source::Engine => Some(self.said_before(at)),
        };
        self.replicas[at].record = record;
        self.acknowledge(at);
        self.trace.tell(|| format!("replica {at} starts"));
        if self.source == Source::Engine && !self.is_cut(at) {
            self.sync(at)?;
            self.hear(at);
        }
        Ok(())
    }

    /// What a replica that starts finds of its own; without that it may have begun sessions in any
    /// group until now.
    fn said_before(&self, at: usize) -> Rc<ReplicaRecord> {
        match &self.said[at] {
            Some(said) if !self.is_cut(at) => Rc::clone(&said.record),
            _ => Rc::new(ReplicaRecord {
                groups: Vec::new(),
                ..ReplicaRecord::clone(&self.say(at, false).record)
            }),
        }
    }

    /// An operator ends the wait for a replica, and answers for what it may do.
    pub(crate) fn forget_replica(&mut self) {
        let at = self.dice.below(self.replicas.len());
        if self.source == Source::Files || !(self.is_gone(at) || self.is_cut(at)) {
            return;
        }
        self.trace.tell(|| format!("replica {at} is forgotten"));
        self.said[at] = None;
        self.trace.reached.replica_forgotten += 1;
        let risk = 2 * TA.as_millis() as Millis + 4 * SKEW.as_millis() as Millis;
        self.risky_until = self.now + risk;
    }
}
