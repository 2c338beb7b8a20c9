//! Until when pins are valid, as a replica knows it and as it is, and what is open.

use std::collections::BTreeMap;

use tower_affinity_core::{Cause, Decision, GroupRef, Rollout, SessionPin, Timestamp};

use crate::sim::flight::Flight;
use crate::sim::ledger::Entry;
use crate::sim::names::{Id, Millis, id_of, ids_of};
use crate::sim::world::World;

/// The latest expiry of a pin to each group that was issued or obeyed at a replica.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expiries(BTreeMap<Id, Timestamp>);

impl Expiries {
    pub(crate) fn note(&mut self, id: Id, expires: Timestamp) {
        let latest = self.0.entry(id).or_default();
        *latest = expires.max(*latest);
    }

    pub(crate) fn latest(&self, id: Id) -> Option<Timestamp> {
        self.0.get(&id).copied()
    }

    pub(crate) fn retain(&mut self, rollout: &Rollout) {
        let known = ids_of(rollout);
        self.0.retain(|id, _| known.contains(id));
    }

    /// Each group may have pins that were lost, until then.
    pub(crate) fn lose(&mut self, rollout: &Rollout, until: Timestamp) {
        for id in rollout.ids() {
            self.note(id_of(id), until);
        }
    }
}

/// How a session came to its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) replica: usize,
    /// By the true time.
    pub(crate) at: Millis,
}

/// A group that was retired because it was drained.
#[derive(Clone, Debug)]
pub(crate) struct Retired {
    /// By the true time.
    pub(crate) at: Millis,
    /// Until when each replica had told who retired it that it places no session there.
    pub(crate) told: BTreeMap<usize, Millis>,
}

impl Retired {
    /// Whether no session that came to the group like this could be left.
    pub(crate) fn rules_out(&self, placed: &Placed) -> bool {
        let unknown = self.told.get(&placed.replica);
        placed.at <= self.at && unknown.is_none_or(|told| placed.at < *told)
    }
}

impl World<'_> {
    /// A replica has verified a pin, or is going to issue it.
    pub(crate) fn note_pin(&mut self, replica: usize, pin: &SessionPin) {
        if let GroupRef::Known(id) = &pin.group {
            self.replicas[replica].expiries.note(id_of(id), pin.expires);
        }
    }

    /// A decision has put a session somewhere.
    pub(crate) fn place(&mut self, replica: usize, entry: Option<&Entry>, decision: &Decision) {
        let Some(pin) = decision.pin.as_ref().filter(|_| decision.issue) else {
            return;
        };
        let Some(id) = pin.group.known().map(id_of) else {
            return;
        };
        let session = pin.session.bits();
        if entry.is_none_or(|entry| (entry.session, entry.id) != (session, id)) {
            let at = self.now;
            self.placed.insert((session, id), Placed { replica, at });
        }
    }

    /// Requests to a group that are open at a replica.
    pub(crate) fn open(&self, replica: usize, id: Id) -> u64 {
        let flights = self.flights.values();
        let open = flights.filter(|flight| flight.replica == replica && flight.group == id);
        open.filter(|flight| self.is_open(flight)).count() as u64
    }

    pub(crate) fn is_open(&self, flight: &Flight) -> bool {
        self.replicas[flight.replica].lives == flight.life
    }
}

impl Flight {
    /// An override for one request asks for no pin, and comes for as long as the group serves.
    pub(crate) fn is_granted(&self) -> bool {
        self.decision.cause == Cause::Granted
    }
}
