//! Level `version`: who takes the sessions of a group that is gone.

use super::Inputs;
use crate::{GroupId, Level, Policy, SessionPin, draw_compatible};

impl Inputs<'_> {
    /// The group that takes over a session whose own group is gone or lost; `None` at other levels,
    /// and where no group that could has declared so. One step is taken and no more: what a group
    /// declares of another says nothing of those that the other one can serve.
    pub(super) fn compatible(&self, policy: &Policy, pin: &SessionPin) -> Option<GroupId> {
        let left = pin
            .group
            .known()
            .filter(|_| policy.level == Level::Version)?;
        let key = self.key_of(pin);
        let to = draw_compatible(self.salt, key, self.rollout, self.ready, left.name())?;
        Some(to.id().clone())
    }
}
