//! A state comes to a replica.

use std::rc::Rc;

use tower_affinity_core::Revision;

use crate::sim::Violation;
use crate::sim::model::Group;
use crate::sim::replica::State;
use crate::sim::world::{Check, World};

impl World<'_> {
    /// A replica takes a state that was delivered, if it is newer than its own.
    pub(crate) fn accept(&mut self, replica: usize, next: Rc<State>) -> Check {
        let own = &self.replicas[replica];
        if !self.parts.supersedes(&next.rollout, &own.shared.rollout) {
            let restored = |(new, own): (&Option<Group>, &Option<Group>)| match (new, own) {
                (Some(new), Some(own)) => new.generation < own.generation,
                _ => false,
            };
            let mut groups = next.model.groups.iter().zip(&own.shared.model.groups);
            let late = groups.any(restored);
            self.trace.reached.stale_delivery += 1;
            self.trace.reached.restore_followed_by_a_late_delivery += u64::from(late);
            return Ok(());
        }
        if next.rollout.revision() < own.shared.rollout.revision() {
            let (from, to) = (own.shared.rollout.revision(), next.rollout.revision());
            return Violation::of(
                "I4 revisions",
                format!("replica {replica} fell from {from} to {to}"),
            );
        }
        let own = &mut self.replicas[replica];
        if own
            .behind
            .is_some_and(|(revision, _)| next.rollout.revision().0 >= revision)
        {
            own.behind = None;
        }
        own.shared = next;
        self.put_in_force(replica)?;
        let own = &self.replicas[replica];
        let revision = own.state.rollout.revision();
        self.trace
            .tell(|| format!("replica {replica} has revision {revision}"));
        self.trace.mix_numbers(&[replica as u64, revision.0]);
        self.count_crossed();
        Ok(())
    }

    /// A replica with a file of its own takes the same state under a greater revision: a pin has
    /// shown that there was one.
    pub(crate) fn raise(&mut self, replica: usize, revision: u64) -> Check {
        let own = Rc::clone(&self.replicas[replica].shared);
        if revision <= own.model.revision {
            return Ok(());
        }
        self.trace.reached.revision_raised_by_a_pin += 1;
        let raised = own.rollout.raised(Revision(revision));
        self.accept(replica, State::new(raised, own.model.raised(revision)))
    }

    pub(crate) fn count_crossed(&mut self) {
        let crossed = |a: &State, b: &State| {
            a.model.aborts.iter().any(|(id, (abort, _))| {
                b.model
                    .aborts
                    .get(&abort.target)
                    .is_some_and(|(back, _)| back.target == *id)
            })
        };
        let states: Vec<&State> = self
            .replicas
            .iter()
            .map(|replica| &*replica.state)
            .collect();
        let any = states.iter().any(|a| states.iter().any(|b| crossed(a, b)));
        self.trace.reached.crossed_aborts += u64::from(any);
    }
}
