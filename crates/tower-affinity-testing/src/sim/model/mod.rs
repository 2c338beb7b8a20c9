//! The oracle's own idea of a rollout: which groups there are and what became of them.
//!
//! It shares no code with the rules that it checks: it is fed the same orders and has to come to
//! the same state.

mod claim;
mod compare;
mod orders;
mod verbs;

use std::collections::BTreeMap;

use tower_affinity_core::AbortPolicy;

pub(crate) use self::claim::Claim;
use crate::sim::names::{GROUPS, Id, Millis, TA};

const MEMORY: Millis = TA.as_millis() as Millis + 10 * 60 * 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Staged,
    Active,
    Draining,
    Aborted,
    Retired(Millis),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) generation: u32,
    pub(crate) life: Life,
    pub(crate) weight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abort {
    pub(crate) target: Id,
    pub(crate) policy: AbortPolicy,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) revision: u64,
    pub(crate) groups: [Option<Group>; GROUPS],
    pub(crate) stable: u8,
    /// The revision of the last change that draws sessions anew.
    pub(crate) drawn: u64,
    pub(crate) locked: bool,
    former: Vec<u8>,
    /// Every abort that is remembered, and until when; `None` while the group is still there.
    pub(crate) aborts: BTreeMap<Id, (Abort, Option<Millis>)>,
    /// Old generations, and until when they are remembered.
    buried: BTreeMap<Id, Millis>,
}

impl Model {
    pub(crate) fn new(revision: u64, weights: &[u64]) -> Self {
        let mut groups = [None; GROUPS];
        for (group, weight) in groups.iter_mut().zip(weights) {
            *group = Some(Group {
                generation: 1,
                life: Life::Active,
                weight: *weight,
            });
        }
        Self {
            revision,
            groups,
            stable: 0,
            drawn: revision,
            locked: false,
            former: Vec::new(),
            aborts: BTreeMap::new(),
            buried: BTreeMap::new(),
        }
    }

    pub(crate) fn group(&self, n: u8) -> Option<&Group> {
        self.groups[usize::from(n)].as_ref()
    }

    /// Whether a pin can name `id` here: it is there or it is remembered.
    pub(crate) fn knows(&self, id: Id) -> bool {
        self.is_current(id) || self.buried.contains_key(&id)
    }

    pub(crate) fn is_current(&self, (n, generation): Id) -> bool {
        self.group(n)
            .is_some_and(|group| group.generation == generation)
    }

    pub(super) fn life(&self, n: u8) -> Option<Life> {
        self.group(n).map(|group| group.life)
    }

    /// Where a session of an aborted group goes.
    pub(crate) fn destination(&self, abort: Abort) -> Id {
        let mut target = abort.target;
        for _ in 0..=self.aborts.len() {
            if self.is_current(target) && self.life(target.0) == Some(Life::Active) {
                return target;
            }
            match self.aborts.get(&target) {
                Some((next, _)) => target = next.target,
                None => break,
            }
        }
        (
            self.stable,
            self.group(self.stable).map_or(0, |group| group.generation),
        )
    }
}
