//! What is left of a group: pins that may be valid, and what is open.

use tower_affinity::core::{Group, GroupName, Refusal, Rollout, Timestamp};

use super::Control;
use super::verb::Terms;

/// What is left of a group at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// Whether no session is left: its endpoints can be taken away.
    pub drained: bool,
    /// The latest expiry of a pin to it; `None` if there was none.
    pub last_expiry: Option<Timestamp>,
    /// The time until which it is not drained, as far as pins are known; `None` while new sessions
    /// begin there.
    pub after: Option<Timestamp>,
    /// When it is drained at the latest, if it drains.
    pub by: Option<Timestamp>,
    /// Requests whose answer or tunnel has not ended.
    pub open: usize,
}

impl Control {
    /// What is left of a group of the rollout.
    #[must_use]
    pub fn left(&self, rollout: &Rollout, group: &Group) -> Left {
        let (max_age, skew) = self.bounds();
        let name = group.name();
        // first the pins, then what is open: a request notes its pin before it is sent on
        let last_expiry = self.expiries().latest(group.id());
        let after = rollout.drained_after(name, last_expiry, max_age, skew);
        let open = self.groups().in_flight(name);
        let now = self.now();
        Left {
            drained: open == 0 && after.is_some_and(|after| now > after),
            last_expiry,
            after,
            by: rollout.drained_by(name, max_age, skew),
            open,
        }
    }
}

/// Retires a group; a draining one has to be drained, unless `force`.
pub(super) fn retire(
    rollout: &Rollout,
    name: &GroupName,
    force: bool,
    terms: &Terms<'_>,
) -> Result<Rollout, Refusal> {
    let change = terms.change;
    let id = rollout.group(name).map(Group::id);
    let last = id.and_then(|id| terms.expiries.latest(id));
    let after = rollout.drained_after(name, last, change.max_age, terms.skew);
    let next = rollout.retire(name, after, force, change)?;
    let open = terms.groups.in_flight(name);
    let drains = rollout.drained_by(name, change.max_age, terms.skew);
    if open > 0 && drains.is_some() && !force {
        return Err(Refusal::Open {
            group: name.clone(),
            open,
        });
    }
    Ok(next)
}
