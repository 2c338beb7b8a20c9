//! Overrides: what testers send to be served by a group of their choice.

use std::time::Duration;

use tower_affinity_core::{GroupId, Timestamp};

use super::names::{Id, id_of};
use super::world::{Source, World};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// An override as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) token: String,
    pub(super) id: Id,
    pub(super) sticky: bool,
    /// Whether we signed it and it has not ended.
    pub(super) valid: bool,
}

impl World<'_> {
    /// An override for any group that there is or was; some have ended, some are not ours.
    pub(super) fn any_grant(&mut self, replica: usize) -> Option<Grant> {
        let state = match self.source {
            Source::Engine => &self.head,
            Source::Files => &self.replicas[replica].state,
        };
        let ids: Vec<GroupId> = state.rollout.ids().cloned().collect();
        let group = &ids[self.dice.below(ids.len())];
        let sticky = self.dice.chance(600);
        let (now, codec) = (self.clock(replica), self.codec(replica));
        let earlier = Timestamp::from_millis(now.as_millis() - 2 * HOUR.as_millis() as u64);
        let (token, valid) = match self.dice.below(8) {
            0 => (codec.seal_override(group, HOUR, sticky, earlier), false),
            1 => (self.forger.seal_override(group, HOUR, sticky, now), false),
            _ => (codec.seal_override(group, 12 * HOUR, sticky, now), true),
        };
        Some(Grant {
            token: token?,
            id: id_of(group),
            sticky,
            valid,
        })
    }
}
