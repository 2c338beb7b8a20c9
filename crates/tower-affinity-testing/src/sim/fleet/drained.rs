//! I9: a replica says that a group is drained only when nobody accepts anything for it any more.

use std::collections::BTreeMap;
use std::time::Duration;

use tower_affinity_core::{Bounds, Group, Left, State as GroupState, Timestamp};

use crate::sim::Violation;
use crate::sim::names::{Id, Millis, SKEW, TA, id_of};
use crate::sim::parts::Order;
use crate::sim::replica::State;
use crate::sim::world::{Check, Source, World};

/// Every answer has ended by then.
const STREAMS: Duration = Duration::from_secs(40 * 60);

impl World<'_> {
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds {
            max_age: TA,
            skew: match self.source {
                Source::Engine => SKEW,
                Source::Files => Duration::ZERO,
            },
            streams: STREAMS,
        }
    }

    /// When the group of a retirement may be retired; `None` if it may now, or always.
    pub(crate) fn drained_by(
        &mut self,
        state: &State,
        order: &Order,
        replica: usize,
    ) -> Check<Option<Timestamp>> {
        let Order::Retire { group, .. } = order else {
            return Ok(None);
        };
        let group = state.rollout.group(crate::sim::names::name_of(*group));
        let Some(group) = group.filter(|group| drains(group)) else {
            return Ok(None);
        };
        let left = self.left(replica, group)?;
        let now = self.clock(replica);
        self.trace
            .tell(|| format!("at {now} replica {replica} says {left:?}"));
        Ok((!left.drained).then_some(Timestamp::from_millis(u64::MAX)))
    }

    /// What a replica says is left of a group, which has to be true.
    pub(crate) fn left(&mut self, replica: usize, group: &Group) -> Check<Left> {
        if self.source == Source::Files && self.replicas.len() > 1 {
            // only all files together could tell
            return Ok(Left::default());
        }
        let left = self.parts.left(&self.fleet(replica), group, self.bounds());
        let (id, since) = (id_of(group.id()), group.state().ended());
        let said = (id, since.unwrap_or_default().as_millis());
        let reached = &mut self.trace.reached;
        reached.drained_waits_for_a_replica += u64::from(!left.waits_for.is_empty());
        if !left.drained {
            let again = self.replicas[replica].says_drained.remove(&said);
            reached.late_pin_after_drained += u64::from(again);
            return Ok(left);
        }
        self.replicas[replica].says_drained.insert(said);
        let others = &self.replicas[replica].heard;
        let mut others = others.iter().filter(|heard| heard.replica != replica);
        let silent = others.clone().any(|h| !h.alive && !h.said.record.left);
        let gone = others.any(|heard| heard.said.record.left);
        reached.drained_with_a_silent_replica += u64::from(silent);
        reached.drained_after_a_leave += u64::from(gone);
        if self.now < self.risky_until {
            return Ok(left);
        }
        match self.still_accepted(replica, id, since) {
            Some(what) => Violation::of(
                "I9 never early",
                format!("replica {replica} says {id:?} is drained: {left:?}, but {what}"),
            ),
            None => Ok(left),
        }
    }

    /// A valid pin to the group, or an open request.
    fn still_accepted(&self, teller: usize, id: Id, since: Option<Timestamp>) -> Option<String> {
        let pin = self.ledger.iter().find(|entry| {
            let mut clocks = (0..self.replicas.len()).map(|n| self.clock(n).as_millis());
            entry.id == id
                && clocks.any(|clock| entry.is_valid(clock))
                && !self.came_later(teller, entry.session, id, since)
        });
        if let Some(pin) = pin {
            return Some(format!("this pin is valid: {pin:?}"));
        }
        let open = self.flights.values().find(|flight| {
            let session = flight.decision.pin.as_ref().map(|pin| pin.session.bits());
            flight.group == id
                && self.is_open(flight)
                && !flight.is_granted()
                && session.is_none_or(|session| !self.came_later(teller, session, id, since))
        });
        open.map(|flight| format!("this is open: {flight:?}"))
    }

    /// Whether a replica placed the session after it had told `teller` that it places none there: it
    /// has had another state since, which the other one cannot know.
    fn came_later(&self, teller: usize, session: u128, id: Id, since: Option<Timestamp>) -> bool {
        let Some(placed) = self.placed.get(&(session, id)) else {
            return false;
        };
        let told = self.told(teller, id, since);
        told.get(&placed.replica)
            .is_some_and(|made| *made <= placed.at)
    }

    /// The replicas that have told `teller` that they place no session in the group any more, and
    /// when. One that is cut off can do so again: an abort that only it knows makes its target
    /// active there.
    pub(crate) fn told(
        &self,
        teller: usize,
        id: Id,
        since: Option<Timestamp>,
    ) -> BTreeMap<usize, Millis> {
        let heard = self.replicas[teller].heard.iter();
        let heard = heard.filter(|heard| heard.replica != teller);
        let told = heard.filter(|heard| {
            let record = &heard.said.record;
            let mut groups = record.groups.iter();
            let ended = groups
                .find(|group| id_of(&group.id) == id)
                .and_then(|group| group.acknowledged);
            record.left || ended.is_some_and(|ended| Some(ended.since) == since)
        });
        told.map(|heard| (heard.replica, heard.said.made)).collect()
    }

    /// Somebody looks at a draining group, at some replica; often at the moment when it is drained.
    pub(crate) fn look_at_drained(&mut self) -> Check {
        let replica = self.dice.below(self.replicas.len());
        let groups = self.replicas[replica].state.rollout.groups();
        let groups: Vec<Group> = groups.iter().filter(|g| drains(g)).cloned().collect();
        let Some(group) = groups.get(self.dice.below(groups.len())) else {
            return Ok(());
        };
        if self.is_gone(replica) {
            return Ok(());
        }
        let left = self.left(replica, group)?;
        let far = self.now + 5 * TA.as_millis() as Millis;
        if let Some(after) = left
            .after
            .filter(|_| !left.drained && self.dice.chance(500))
        {
            let after = after.plus(Duration::from_millis(1)).as_millis();
            let at = after.saturating_add_signed(-self.replicas[replica].offset);
            if self.now < at && at < far {
                self.advance(at - self.now)?;
                self.beat_all();
            }
        }
        self.look_everywhere(group.id().name())
    }

    /// Each replica is asked what is left of a group, where it drains.
    fn look_everywhere(&mut self, name: &tower_affinity_core::GroupName) -> Check {
        for replica in 0..self.replicas.len() {
            let group = self.replicas[replica].state.rollout.group(name).cloned();
            if let Some(group) = group.filter(|group| drains(group) && !self.is_gone(replica)) {
                self.left(replica, &group)?;
            }
        }
        Ok(())
    }
}

fn drains(group: &Group) -> bool {
    matches!(group.state(), GroupState::Draining { .. })
}
