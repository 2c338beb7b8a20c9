//! What the view says of a group: ready, past its grace, lost.

use super::Inputs;
use crate::{GROUP_GRACE, Group, GroupName, Ready, State};

impl Inputs<'_> {
    pub(super) fn is_ready(&self, name: &GroupName) -> bool {
        self.ready.of(name) == Ready::Yes
    }

    pub(super) fn is_past_grace(&self, name: &GroupName) -> bool {
        match self.ready.of(name) {
            Ready::Yes => false,
            Ready::No { since } => self.now.since(since) >= GROUP_GRACE,
        }
    }

    /// A group is lost only while at most half of all groups are: if more are, it is us.
    pub(super) fn is_lost(&self, name: &GroupName) -> bool {
        if !self.is_past_grace(name) {
            return false;
        }
        let serving =
            |group: &&Group| matches!(group.state(), State::Active | State::Draining { .. });
        let (mut all, mut lost) = (0_usize, 0_usize);
        for group in self.rollout.groups().iter().filter(serving) {
            all += 1;
            lost += usize::from(self.is_past_grace(group.name()));
        }
        lost * 2 <= all
    }
}
