//! A service without a gateway: what this very process is has a say.

use super::{Decision, Forwarding, Inputs, Kind};
use crate::{Group, GroupId, Serving, State};

impl Inputs<'_> {
    /// The group of this process, where it takes new sessions: the balancer in front has drawn
    /// already, whatever our weights say.
    pub(super) fn drawn_here(&self) -> Option<&Group> {
        let group = self.rollout.group(self.serving?.group)?;
        matches!(group.state(), State::Active).then_some(group)
    }

    /// Whether the draw decides: there is no balancer in front, or it has drawn a group that takes no
    /// new sessions, and what belongs to others is taken to them.
    pub(super) fn is_drawn(&self) -> bool {
        self.serving.is_none_or(|serving| {
            serving.forwarding != Forwarding::Never && self.drawn_here().is_none()
        })
    }

    /// Whether the draw decides where a session begins.
    pub(super) fn draws_sessions(&self) -> bool {
        let by_weight = |serving: Serving<'_>| serving.forwarding == Forwarding::ByWeight;
        self.is_drawn() || self.serving.is_some_and(by_weight)
    }

    /// Where a request goes that has no session: the stable group, or this very process if a
    /// balancer in front has drawn already.
    pub(super) fn default_group(&self) -> GroupId {
        match self.serving {
            Some(serving) if !self.is_drawn() => {
                let known = self.rollout.group(serving.group);
                let known = known.map(|group| group.id().clone());
                // a process can be up before its group is registered; generation 0 is never in a pin
                known.unwrap_or_else(|| GroupId::new(serving.group.clone(), 0))
            }
            _ => self.rollout.stable_id(),
        }
    }

    /// Whether what was decided has to be refused here: a process that serves one group does that with
    /// what belongs to another, unless it takes it there.
    pub(super) fn is_elsewhere(&self, decision: &Decision) -> bool {
        let elsewhere = self.serving.is_some_and(|serving| {
            let group = decision.group.as_ref();
            let refuses = serving.forwarding == Forwarding::Never;
            refuses && group.is_some_and(|group| group.name() != serving.group)
        });
        elsewhere && decision.kind != Kind::Refused
    }
}
