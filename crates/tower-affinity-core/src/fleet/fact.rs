//! Emergency aborts: what one replica knows and the shared state does not yet.

use serde::{Deserialize, Serialize};

use crate::rollout::AbortDocument;
use crate::{
    Abort, AbortPolicy, Change, DocumentError, Group, GroupId, Revision, Rollout, Status, Timestamp,
};

/// An abort that was accepted while the shared state was out of reach.
///
/// The replica that took it obeys it: *aborted* wins over any other state of that group, and the
/// revision stays. It goes into the shared state by itself if nobody has changed the group there
/// since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The aborted group.
    pub id: GroupId,
    /// What was decided.
    pub abort: Abort,
    /// The state that it was decided on.
    pub base: Revision,
    /// Whether the shared state was found to contradict it: then only a human settles it.
    pub disputed: bool,
    /// How the group was there.
    before: Before,
}

/// What must not have changed in the shared state, if the fact is to merge by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    state: String,
    weight: u16,
    stable: bool,
}

impl Before {
    fn of(rollout: &Rollout, group: &Group) -> Self {
        Self {
            state: group.state().name().to_owned(),
            weight: group.weight().get(),
            stable: rollout.stable() == group.name(),
        }
    }
}

/// How a fact stands to a shared state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The group is aborted there as well, or not known any more: the fact has done its work.
    Done,
    /// Nothing stands against it.
    Merges,
    /// The group was changed there since, or no group is left that could take its sessions.
    Conflicts,
}

impl Fact {
    /// The fact of an abort that leads from `before` to `after`; `None` if it aborted nothing.
    #[must_use]
    pub fn of(before: &Rollout, after: &Rollout, id: &GroupId) -> Option<Self> {
        let (Status::Serving(group), Status::Aborted(abort)) =
            (before.status(id), after.status(id))
        else {
            return None;
        };
        Some(Self {
            id: id.clone(),
            abort: abort.clone(),
            base: before.revision(),
            disputed: false,
            before: Before::of(before, group),
        })
    }

    /// How it stands to `shared`.
    #[must_use]
    pub fn standing(&self, shared: &Rollout) -> Standing {
        match shared.status(&self.id) {
            Status::Aborted(_) => Standing::Done,
            Status::Gone if shared.ids().all(|id| *id != self.id) => Standing::Done,
            Status::Gone => Standing::Conflicts,
            Status::Serving(_) if self.disputed => Standing::Conflicts,
            Status::Serving(group) => {
                let same = self.before == Before::of(shared, group);
                match same && self.target_in(shared).is_some() {
                    true => Standing::Merges,
                    false => Standing::Conflicts,
                }
            }
        }
    }

    /// The shared state with the fact in it, as a change of it.
    #[must_use]
    pub fn merged(&self, shared: &Rollout, change: Change) -> Rollout {
        let mut next = self.over(&shared.next(change));
        next.stepped(change, false);
        next
    }

    /// What this replica obeys: `rollout` with the fact over it, under the same revision. Where no
    /// group could take the sessions, `rollout` is obeyed.
    #[must_use]
    pub fn over(&self, rollout: &Rollout) -> Rollout {
        let mut over = rollout.clone();
        if let Status::Serving(_) = rollout.status(&self.id)
            && let Some(target) = self.target_in(rollout)
        {
            let abort = Abort {
                target,
                ..self.abort.clone()
            };
            over.hand_over(&self.id, &abort);
        }
        over
    }

    fn target_in(&self, rollout: &Rollout) -> Option<GroupId> {
        rollout.target_or_default(&self.id, &self.abort.target)
    }

    /// The same fact with another policy: an abort that is repeated with one.
    #[must_use]
    pub fn with_policy(self, policy: AbortPolicy) -> Self {
        Self {
            abort: Abort {
                policy,
                ..self.abort
            },
            ..self
        }
    }
}

/// What a replica obeys: a shared state with its own facts over it, the earliest first.
#[must_use]
pub fn obeyed(shared: &Rollout, facts: &[Fact]) -> Rollout {
    facts
        .iter()
        .fold(shared.clone(), |rollout, fact| fact.over(&rollout))
}

/// How each fact stands to a shared state. One that merges counts as merged for those after it,
/// which were decided on top of it.
#[must_use]
pub fn standings(shared: &Rollout, facts: &[Fact]) -> Vec<Standing> {
    let mut shared = shared.clone();
    let standing = |fact: &Fact| {
        let standing = fact.standing(&shared);
        if standing == Standing::Merges {
            shared = fact.over(&shared);
        }
        standing
    };
    facts.iter().map(standing).collect()
}

#[derive(Serialize, Deserialize)]
struct FactDocument {
    name: String,
    generation: u32,
    abort: AbortDocument,
    base: u64,
    disputed: bool,
    before: Before,
}

impl Fact {
    /// The fact as a JSON document.
    #[must_use]
    pub fn to_document(&self) -> serde_json::Value {
        let document = FactDocument {
            name: self.id.name().to_string(),
            generation: self.id.generation(),
            abort: (&self.abort).into(),
            base: self.base.0,
            disputed: self.disputed,
            before: self.before.clone(),
        };
        // a struct of strings and numbers has no map key that could fail
        serde_json::to_value(document).unwrap_or_default()
    }

    /// Reads a document that [`Fact::to_document`] has written.
    ///
    /// # Errors
    ///
    /// If it has another form, or holds an invalid name.
    pub fn from_document(document: &serde_json::Value) -> Result<Self, DocumentError> {
        let document = FactDocument::deserialize(document).map_err(DocumentError::Form)?;
        let name = document.name.parse();
        let name = name.map_err(|_| DocumentError::Value("group name"))?;
        Ok(Self {
            id: GroupId::new(name, document.generation),
            abort: document.abort.try_into()?,
            base: Revision(document.base),
            disputed: document.disputed,
            before: document.before,
        })
    }

    /// When the abort was accepted.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.abort.at
    }
}
