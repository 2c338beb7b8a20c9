//! What this replica says of itself, and concludes from what all say.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tower_affinity::core::{
    Acknowledged, Announced, Bounds, Fleet, GroupId, GroupRecord, Problem, ReplicaRecord, Rollout,
    Timestamp,
};

use super::live::Live;
use super::peers::{LAPSE, Served};
use super::plane::Control;

impl Control {
    /// All replicas, as this one sees them now; the only one is a fleet of itself.
    #[must_use]
    pub fn fleet(&self) -> Fleet {
        self.fleet_of(&self.live())
    }

    /// The name of this replica among those that share the state.
    #[must_use]
    pub fn replica(&self) -> String {
        self.live().kept.replica.clone()
    }

    /// The records of all replicas, as they were read last.
    #[must_use]
    pub fn announced(&self) -> Arc<[Announced]> {
        self.0.peers.announced().0
    }

    /// What is wrong with this replica, as the others show it.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.0.peers.problems()
    }

    /// What bounds the wait for a draining group, by the settings last applied.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.live().bounds()
    }

    /// Whether this replica may serve: it has heard the others, and they show nothing that speaks
    /// against it. While the shared state is out of reach it serves what it accepted last.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        let Some(member) = self.member() else {
            return true;
        };
        let fit = self.0.peers.fit();
        fit.unwrap_or_else(|| !member.reached().now)
    }

    /// Why this replica may not serve, for people; nothing if it may.
    pub(crate) fn unfit(&self) -> Vec<String> {
        if self.is_fit() {
            return Vec::new();
        }
        let problems = self.problems().into_iter();
        let why: Vec<_> = problems
            .filter(|problem| problem.unready)
            .map(|problem| problem.kind.to_string())
            .collect();
        match why.is_empty() {
            true => vec!["the other replicas were not heard yet".to_owned()],
            false => why,
        }
    }

    /// Whether the state that replicas share is in reach, and how long ago it was last read; `None`
    /// for the only replica.
    #[must_use]
    pub fn shared_reach(&self) -> Option<(bool, Duration)> {
        let reached = self.member()?.reached();
        Some((reached.now, self.now().since(reached.at)))
    }

    /// Ready whenever the other replicas were heard.
    pub(crate) fn hears(&self) -> watch::Receiver<()> {
        self.0.peers.told()
    }

    /// Keeps the records of all, the read of which began `at` by the clock of this replica.
    pub(super) fn heard(&self, announced: Vec<Announced>, at: Timestamp) {
        self.0.peers.heard(announced, at);
    }

    /// Whether this replica has not been ready yet.
    pub(super) fn joins(&self) -> bool {
        self.0.peers.joins()
    }

    /// Judges this replica by what the fleet shows.
    pub(super) fn judge(&self, fleet: &Fleet) {
        let peers = &self.0.peers;
        peers.judged(fleet.problems(LAPSE, peers.joins()), self.events());
    }

    /// Begins with what this replica has said before it started.
    pub(super) fn served(&self, served: Served) {
        let mut live = self.live();
        live.record = match served {
            Served::Never => None,
            Served::Said(record) => Some(*record),
            // it may have begun sessions in any group until now
            Served::Unknown => Some(ReplicaRecord {
                groups: Vec::new(),
                ..self.record_of(&live)
            }),
        };
    }

    pub(super) fn fleet_of(&self, live: &Live) -> Fleet {
        let (announced, at) = self.0.peers.announced();
        let fleet = Fleet::new(&live.kept.replica, self.record_of(live), &announced);
        // who is alone has nobody to hear of
        match self.member() {
            None => fleet,
            Some(_) => fleet.heard_at(at),
        }
    }

    /// What this replica says of itself.
    pub(super) fn record_of(&self, live: &Live) -> ReplicaRecord {
        // first the clock, then the pins, then what is open
        let at = self.now();
        let rollout = self.0.rollouts.current();
        let groups = rollout.ids().map(|id| GroupRecord {
            last_expiry: self.0.expiries.latest(id),
            open: self.open(&rollout, id),
            acknowledged: acknowledged(&rollout, id, live.record.as_ref(), at),
            live: None,
            counted: None,
            id: id.clone(),
        });
        ReplicaRecord {
            revision: live.kept.rollout.revision(),
            at,
            left: false,
            admin: None,
            config: live.config.clone(),
            signing: live.signing.clone(),
            groups: groups.collect(),
            keys: live.codec.digests(),
        }
    }

    /// Requests to that very group, not to another one of its name, whose answer has not ended.
    fn open(&self, rollout: &Rollout, id: &GroupId) -> u64 {
        let group = rollout.group(id.name()).filter(|group| group.id() == id);
        group.map_or(0, |group| self.0.groups.in_flight(group.name()) as u64)
    }

    /// Keeps that the present state is in force: no session has begun since where it says so.
    pub(super) fn acknowledge(&self, live: &mut Live) {
        live.record = Some(self.record_of(live));
    }
}

fn acknowledged(
    rollout: &Rollout,
    id: &GroupId,
    before: Option<&ReplicaRecord>,
    now: Timestamp,
) -> Option<Acknowledged> {
    let group = rollout.groups().iter().find(|group| group.id() == id)?;
    Acknowledged::of(id, group.state(), before, now)
}
