//! What each replica says of itself, and what the engine keeps of it.

use std::rc::Rc;

use tower_affinity_core::{Acknowledged, Announced, Fleet, GroupRecord, ReplicaRecord, Revision};

use crate::sim::names::{Millis, id_of};
use crate::sim::world::{Event, Source, World};

/// How long the engine counts a replica as alive after its last word.
const LAPSE: Millis = 30_000;

/// A record, with the true times at which it was made and came to the engine.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) record: Rc<ReplicaRecord>,
    pub(crate) made: Millis,
    pub(crate) written: Millis,
}

/// What a replica has read of another one.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) replica: usize,
    pub(crate) said: Said,
    pub(crate) alive: bool,
}

impl World<'_> {
    /// Every replica has said that it is there before the first request: one that was not heard of
    /// does not serve.
    pub(crate) fn introduce(&mut self) {
        if self.source == Source::Engine {
            let replicas = 0..self.replicas.len();
            self.said = replicas
                .map(|replica| Some(self.say(replica, false)))
                .collect();
        }
    }

    /// Each replica says that it is there, unless that is lost, and hears the others.
    pub(crate) fn beat_all(&mut self) {
        for replica in 0..self.replicas.len() {
            if !self.faults || self.dice.chance(700) {
                self.beat(replica);
            }
        }
    }

    fn beat(&mut self, replica: usize) {
        if self.source == Source::Files || self.is_cut(replica) {
            return;
        }
        let said = self.say(replica, false);
        if self.faults && self.dice.chance(100) {
            let delay = self.any_delay();
            self.after(delay, Event::Say(replica, said));
        } else {
            self.said[replica] = Some(said);
        }
        let own = &mut self.replicas[replica];
        own.kept = own.expiries.clone();
        self.hear(replica);
    }

    /// A replica reads what the engine has of the others.
    pub(crate) fn hear(&mut self, replica: usize) {
        let now = self.now;
        let said = self.said.iter().enumerate();
        let heard = said.filter_map(|(replica, said)| {
            let said = said.clone()?;
            let alive = !said.record.left && now - said.written <= LAPSE;
            Some(Heard {
                replica,
                said,
                alive,
            })
        });
        let heard = heard.collect();
        self.replicas[replica].heard_at = self.clock(replica);
        self.replicas[replica].heard = heard;
    }

    pub(crate) fn say(&self, replica: usize, left: bool) -> Said {
        Said {
            record: Rc::new(ReplicaRecord {
                left,
                ..self.record_of(replica)
            }),
            made: self.now,
            written: self.now,
        }
    }

    /// What a replica says of itself, from what it obeys.
    fn record_of(&self, replica: usize) -> ReplicaRecord {
        let own = &self.replicas[replica];
        let at = self.clock(replica);
        let rollout = self.parts.told(&own.shared.rollout, &own.state.rollout);
        let groups = rollout.ids().map(|id| {
            let group = rollout.group(id.name()).filter(|group| group.id() == id);
            let state = group.map(tower_affinity_core::Group::state);
            let acknowledged =
                state.and_then(|state| Acknowledged::of(id, state, own.record.as_deref(), at));
            GroupRecord {
                id: id.clone(),
                last_expiry: own.expiries.latest(id_of(id)),
                open: self.open(replica, id_of(id)),
                acknowledged,
                live: None,
                counted: None,
            }
        });
        ReplicaRecord {
            revision: Revision(own.shared.model.revision),
            at,
            left: false,
            admin: None,
            config: None,
            signing: self.signing.clone(),
            keys: Vec::new(),
            groups: groups.collect(),
        }
    }

    /// Keeps that the present state is in force: no session has begun since where it says so.
    pub(crate) fn acknowledge(&mut self, replica: usize) {
        let record = self.record_of(replica);
        let own = &mut self.replicas[replica];
        own.expiries.retain(&own.state.rollout);
        own.record = Some(Rc::new(record));
    }

    /// All replicas, as one of them sees them now.
    pub(crate) fn fleet(&self, replica: usize) -> Fleet {
        let heard = self.replicas[replica].heard.iter();
        let announced: Vec<Announced> = heard
            .filter(|heard| heard.replica != replica)
            .map(|heard| Announced {
                replica: heard.replica.to_string(),
                record: heard.said.record.to_document().to_string(),
                alive: heard.alive,
            })
            .collect();
        let own = self.record_of(replica);
        let fleet = self.parts.fleet(&replica.to_string(), own, &announced);
        match self.source {
            Source::Engine => fleet.heard_at(self.replicas[replica].heard_at),
            Source::Files => fleet,
        }
    }
}
