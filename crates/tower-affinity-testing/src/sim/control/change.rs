//! An order makes a new state, by the real rollout and by the model.

use std::rc::Rc;

use tower_affinity_core::{Change, Revision, Timestamp};

use crate::sim::Violation;
use crate::sim::fleet::Retired;
use crate::sim::model::Life;
use crate::sim::names::{TA, id_of};
use crate::sim::parts::Order;
use crate::sim::replica::{State, View};
use crate::sim::world::{Check, World};

impl World<'_> {
    /// An order reaches a replica that has a file of its own.
    pub(crate) fn obey(&mut self, replica: usize, order: &Order) -> Check {
        let own = Rc::clone(&self.replicas[replica].shared);
        let (view, now) = (self.replicas[replica].view(), self.clock(replica));
        match self.changed(&own, order, view, now, replica)? {
            Some(next) => self.accept(replica, next),
            None => Ok(()),
        }
    }

    /// The state after an order, by the real rollout and by the model; `None` if both refuse or
    /// nothing changes.
    pub(crate) fn changed(
        &mut self,
        state: &Rc<State>,
        order: &Order,
        view: View,
        now: Timestamp,
        replica: usize,
    ) -> Check<Option<Rc<State>>> {
        let revision = Revision(state.rollout.revision().0 + 1);
        let change = Change {
            revision,
            now,
            max_age: TA,
        };
        let drained_by = self.drained_by(state, order, replica)?;
        let real = self
            .parts
            .change(&state.rollout, order, &view, drained_by, change);
        let ready = |n: u8| view.down[usize::from(n)].is_none();
        let model = state.model.after(
            order,
            revision.0,
            now.as_millis(),
            ready,
            drained_by.is_none(),
        );
        self.trace.tell(|| {
            format!(
                "order {order:?} at {replica}: {}",
                match &real {
                    Ok(rollout) => format!("revision {}", rollout.revision()),
                    Err(refusal) => format!("refused, {refusal}"),
                }
            )
        });
        self.trace
            .mix_numbers(&[revision.0, u64::from(real.is_ok())]);
        let (rollout, model) = match (real, model) {
            (Ok(rollout), Some(model)) => (rollout, model),
            (Err(_), None) => {
                self.trace.reached.change_refused += 1;
                self.trace.reached.refused_by_a_lock += u64::from(state.model.locked);
                let waits = matches!(order, Order::Retire { group, .. } if matches!(state.model.group(*group).map(|g| g.life), Some(Life::Draining)));
                self.trace.reached.not_drained_yet += u64::from(waits);
                return Ok(None);
            }
            (Ok(_), None) => return Violation::of("refusals", format!("{order:?} was accepted")),
            (Err(refusal), Some(_)) => {
                return Violation::of("refusals", format!("{order:?} was refused: {refusal}"));
            }
        };
        let sticky = if matches!(order, Order::Abort { .. } | Order::Restore(_)) {
            "I2 abort"
        } else {
            "life of a group"
        };
        if let Some(objection) = model.objection(&rollout) {
            return Violation::of(sticky, format!("after {order:?}: {objection}"));
        }
        if !model.remembers(&rollout) {
            return Violation::of("I10 bounded state", format!("after {order:?}: {rollout:?}"));
        }
        if rollout.revision() == state.rollout.revision() {
            return Ok(None);
        }
        self.note(state, order, replica);
        Ok(Some(State::new(rollout, model)))
    }

    /// Notes what an accepted order means for the invariants and for what has to be reached.
    pub(crate) fn note(&mut self, before: &State, order: &Order, replica: usize) {
        match order {
            Order::Retire {
                group,
                force: false,
            } if before.model.group(*group).map(|group| group.life) == Some(Life::Draining) => {
                let group = before.rollout.group(crate::sim::names::name_of(*group));
                if let Some(group) = group {
                    let id = id_of(group.id());
                    if self.now >= self.risky_until {
                        let told = self.told(replica, id, group.state().ended());
                        let retired = Retired { at: self.now, told };
                        self.drained.insert(id, retired);
                    }
                    self.trace.reached.retired_when_drained += 1;
                }
            }
            // a name that was forgotten begins anew
            Order::Register(group, _) if before.model.group(*group).is_none() => {
                self.drained.retain(|id, _| id.0 != *group);
            }
            Order::Abort { group, .. } => {
                self.trace.reached.abort_under_a_lock += u64::from(before.model.locked);
                let life = before.model.group(*group).map(|group| group.life);
                let again = life == Some(Life::Aborted);
                self.trace.reached.abort_repeated_with_another_policy += u64::from(again);
                let targets = before
                    .model
                    .aborts
                    .values()
                    .any(|(abort, _)| abort.target.0 == *group);
                self.trace.reached.abort_of_a_target += u64::from(targets && !again);
            }
            _ => {}
        }
    }
}
