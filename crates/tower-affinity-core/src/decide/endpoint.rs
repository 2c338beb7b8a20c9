//! Level `endpoint`: which of a group's endpoints a session goes to.

use super::Inputs;
use crate::{DrawKey, GroupId, Level, Policy, SessionPin};

impl Inputs<'_> {
    /// What the session's endpoint is chosen by where its pin names none: the same on all replicas
    /// and for all of its requests, so that parallel ones meet.
    pub(super) fn endpoint_key(&self, pin: &SessionPin) -> Option<DrawKey> {
        let policy = self.policy?;
        (policy.level == Level::Endpoint).then(|| self.key_of(pin))
    }

    /// Whether the pin names an endpoint that does not take its requests any more. A pin without
    /// one has lost nothing.
    pub(super) fn has_lost_endpoint(
        &self,
        policy: &Policy,
        pin: &SessionPin,
        id: &GroupId,
    ) -> bool {
        let takes = |endpoint| self.ready.has(id.name(), endpoint);
        policy.level == Level::Endpoint && !pin.endpoint.as_ref().is_none_or(takes)
    }
}
