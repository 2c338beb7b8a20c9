//! A replica and the engine come to one state.

use std::rc::Rc;

use tower_affinity_core::{Change, Fact, Meeting, Revision, Standing};

use crate::sim::Violation;
use crate::sim::names::TA;
use crate::sim::replica::State;
use crate::sim::world::{Check, World};

impl World<'_> {
    /// A replica reads the engine; then what only it knows goes into the shared state.
    pub(crate) fn sync(&mut self, replica: usize) -> Check {
        self.meet(replica)?;
        self.contribute(replica)
    }

    fn meet(&mut self, replica: usize) -> Check {
        let (ours, theirs) = (
            Rc::clone(&self.replicas[replica].shared),
            Rc::clone(&self.head),
        );
        let (here, there) = (ours.model.revision, theirs.model.revision);
        match self.parts.meet(&ours.rollout, &theirs.rollout) {
            Meeting::Theirs if there > here => self.accept(replica, theirs),
            Meeting::Same if ours.rollout == theirs.rollout => Ok(()),
            Meeting::Ours(next) if there <= here && ours.rollout != theirs.rollout => {
                let raised = here + u64::from(here == there);
                let reached = &mut self.trace.reached;
                reached.lost_state_written_back += u64::from(there < here);
                reached.two_states_of_one_number += u64::from(there == here);
                let next = State::new(next, ours.model.raised(raised));
                self.write(replica, &next)
            }
            met => Violation::of(
                "I4 revisions",
                format!("{met:?}: replica {replica} has {here}, the engine {there}"),
            ),
        }
    }

    /// What only a replica knows goes into the shared state, one change each.
    pub(crate) fn contribute(&mut self, replica: usize) -> Check {
        loop {
            self.settle_facts(replica)?;
            let own = &self.replicas[replica];
            let (shared, shown) = (Rc::clone(&own.shared), own.shown);
            let facts: Vec<Fact> = own.held.iter().map(|held| held.fact.clone()).collect();
            let revision = 1 + shared.model.revision.max(shown);
            let change = Change {
                revision: Revision(revision),
                now: self.clock(replica),
                max_age: TA,
            };
            let merges = own.held.iter().find(|held| {
                let standing = shared.model.standing(&held.claim);
                standing == Standing::Merges
            });
            let model = match merges {
                Some(held) => {
                    let promoted = held.claim.stable != shared.model.stable;
                    let reached = &mut self.trace.reached;
                    reached.fact_merged += 1;
                    reached.fact_merged_after_a_promote += u64::from(promoted);
                    let now = change.now.as_millis();
                    Some(shared.model.merged(&held.claim, revision, now))
                }
                None if shown > shared.model.revision => {
                    self.trace.reached.revision_raised_by_a_pin += 1;
                    Some(shared.model.raised(shown))
                }
                None => None,
            };
            let real = self
                .parts
                .contribution(&shared.rollout, &facts, Revision(shown), change);
            match (real, model) {
                (None, None) => return Ok(()),
                (Some(next), Some(model)) => self.write(replica, &State::new(next, model))?,
                (real, model) => {
                    return Violation::of(
                        "I2 abort",
                        format!("replica {replica} contributes {real:?}, not {model:?}"),
                    );
                }
            }
        }
    }

    /// A replica writes a state, and takes it once it is written.
    pub(crate) fn write(&mut self, replica: usize, next: &Rc<State>) -> Check {
        if let Some(objection) = next.model.objection(&next.rollout) {
            return Violation::of("I2 abort", format!("replica {replica} writes: {objection}"));
        }
        self.replace(next);
        if next.model.revision > self.replicas[replica].shared.model.revision {
            self.accept(replica, Rc::clone(next))?;
        }
        Ok(())
    }
}
