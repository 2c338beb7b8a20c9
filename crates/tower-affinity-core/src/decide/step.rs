//! `on_step = "reassign"`: a changed weight draws sessions anew.

use super::{Cause, Decision, Inputs, Kind};
use crate::{Group, GroupId, GroupName, Policy, Readiness, Ready, SessionPin, State, draw};

/// The view of a session that is drawn anew: that its group has no ready endpoint for a moment is
/// no reason to leave it.
struct Here<'a> {
    ready: &'a dyn Readiness,
    group: &'a GroupName,
}

impl Readiness for Here<'_> {
    fn of(&self, group: &GroupName) -> Ready {
        if group == self.group {
            Ready::Yes
        } else {
            self.ready.of(group)
        }
    }
}

impl Inputs<'_> {
    /// Where a changed weight draws the session of a pin; `None` if it has no say in it.
    pub(super) fn drawn_anew(&self, pin: &SessionPin, group: &Group) -> Option<GroupId> {
        let drawn = !pin.placed && self.serving.is_none();
        let stepped = pin.assigned < self.rollout.draw_revision();
        if !drawn || !stepped || !matches!(group.state(), State::Active) {
            return None;
        }
        let here = Here {
            ready: self.ready,
            group: group.name(),
        };
        let to = draw(self.salt, self.key_of(pin), self.rollout, &here)?;
        Some(to.id().clone())
    }

    pub(super) fn stepped(&self, policy: &Policy, pin: &SessionPin, to: GroupId) -> Decision {
        let (revision, drawn) = (self.rollout.revision(), self.rollout.draw_revision());
        let (kind, cause) = match pin.group.known() == Some(&to) {
            true => (Kind::Pinned, Cause::Ok),
            false => (Kind::Moved, Cause::Step),
        };
        let lost = kind == Kind::Pinned && self.has_lost_endpoint(policy, pin, &to);
        let pin = pin.drawn_anew(to.clone(), drawn, revision, self.now, policy.lifetimes);
        let decision = self.with_pin(kind, cause, to, pin, true);
        if lost {
            decision.endpoint_lost()
        } else {
            decision
        }
    }
}
