//! Aborts that a replica takes while the engine is out of its reach, and what becomes of them.

use std::rc::Rc;

use tower_affinity_core::{Fact, Standing, Status};

use crate::sim::Violation;
use crate::sim::model::Claim;
use crate::sim::names::name_of;
use crate::sim::parts::Order;
use crate::sim::replica::{Held, State};
use crate::sim::world::{Check, World};

impl World<'_> {
    /// An order comes to a replica that cannot reach the engine: only an abort is taken there.
    pub(crate) fn obey_alone(&mut self, replica: usize, order: &Order) -> Check {
        let Order::Abort { group, .. } = order else {
            return Ok(());
        };
        let before = Rc::clone(&self.replicas[replica].state);
        let (view, now) = (self.replicas[replica].view(), self.clock(replica));
        let Some(after) = self.changed(&before, order, view, now, replica)? else {
            return Ok(());
        };
        let Some(id) = before
            .rollout
            .group(name_of(*group))
            .map(|g| g.id().clone())
        else {
            return Ok(());
        };
        let held = &mut self.replicas[replica].held;
        if let Some(fact) = Fact::of(&before.rollout, &after.rollout, &id) {
            let Some(claim) = Claim::of(&before.model, &after.model, *group) else {
                return Violation::of("I2 abort", format!("{fact:?} aborts nothing"));
            };
            held.push(Held { fact, claim });
            self.trace.reached.abort_taken_as_a_fact += 1;
        } else if let Status::Aborted(abort) = after.rollout.status(&id)
            && let Some(known) = held.iter_mut().find(|held| held.fact.id == id)
        {
            known.fact = known.fact.clone().with_policy(abort.policy);
            known.claim.set_policy(abort.policy);
        }
        self.put_in_force(replica)
    }

    /// A replica obeys the shared state that it has, with its own aborts over it.
    pub(crate) fn put_in_force(&mut self, replica: usize) -> Check {
        let own = &self.replicas[replica];
        let (shared, held) = (Rc::clone(&own.shared), own.held.clone());
        if held.is_empty() {
            self.replicas[replica].state = shared;
            self.acknowledge(replica);
            return Ok(());
        }
        let facts: Vec<Fact> = held.iter().map(|held| held.fact.clone()).collect();
        let rollout = self.parts.obeyed(&shared.rollout, &facts);
        let mut model = shared.model.clone();
        for held in &held {
            model.obey(&held.claim);
            let yields = !model.aborts.contains_key(&held.claim.id);
            self.trace.reached.fact_that_nobody_can_take += u64::from(yields);
        }
        if let Some(objection) = model.objection(&rollout) {
            let facts = format!("replica {replica} obeys {facts:?}");
            return Violation::of("I2 abort", format!("{facts}: {objection}"));
        }
        self.replicas[replica].state = State::new(rollout, model);
        self.acknowledge(replica);
        self.count_crossed();
        Ok(())
    }

    /// Forgets what the shared state knows by now, and marks what stands against it.
    pub(super) fn settle_facts(&mut self, replica: usize) -> Check {
        let shared = Rc::clone(&self.replicas[replica].shared);
        let held = std::mem::take(&mut self.replicas[replica].held);
        let any = !held.is_empty();
        for mut held in held {
            let must = shared.model.standing(&held.claim);
            let real = self.parts.standing(&held.fact, &shared.rollout);
            if real != must {
                let fact = &held.fact;
                return Violation::of("I2 abort", format!("{real:?}, not {must:?}: {fact:?}"));
            }
            let reached = &mut self.trace.reached;
            if must == Standing::Done {
                let restored = !shared.model.is_current(held.claim.id);
                reached.restore_followed_by_a_late_fact += u64::from(restored);
                continue;
            }
            if must == Standing::Conflicts && !held.claim.disputed {
                reached.fact_disputed += 1;
                (held.fact.disputed, held.claim.disputed) = (true, true);
            }
            self.replicas[replica].held.push(held);
        }
        if any {
            self.put_in_force(replica)
        } else {
            Ok(())
        }
    }

    /// A human has a look at what is disputed: it is confirmed by an abort, or dropped.
    pub(crate) fn look_at_disputes(&mut self) -> Check {
        let present: Vec<usize> = (0..self.replicas.len())
            .filter(|replica| !self.is_gone(*replica))
            .collect();
        for replica in present {
            let held = &self.replicas[replica].held;
            let Some(id) = held.iter().find(|h| h.claim.disputed).map(|h| h.claim.id) else {
                continue;
            };
            let confirms = self.dice.chance(500) && !self.is_cut(replica);
            if confirms && self.replicas[replica].shared.model.is_current(id) {
                let abort = Order::Abort {
                    group: id.0,
                    to: None,
                    policy: None,
                    force: true,
                };
                self.order_at(replica, &abort)?;
            }
            let held = &mut self.replicas[replica].held;
            let before = held.len();
            held.retain(|held| held.claim.id != id);
            let dropped = held.len() < before;
            self.trace
                .tell(|| format!("{id:?} at {replica}: dropped {dropped}"));
            let reached = &mut self.trace.reached;
            reached.fact_dropped += u64::from(dropped);
            reached.fact_confirmed += u64::from(!dropped);
            self.put_in_force(replica)?;
        }
        Ok(())
    }
}
