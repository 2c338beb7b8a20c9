//! What the answers of one endpoint mean.

use tower_affinity::balance::EndpointState;

use crate::config::Health;

/// How many equal answers in a row an endpoint has given.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    healthy: bool,
    length: u32,
}

impl Run {
    /// The same endpoint after one more answer.
    pub(super) fn then(self, healthy: bool) -> Self {
        let length = match self.healthy == healthy {
            true => self.length.saturating_add(1),
            false => 1,
        };
        Self { healthy, length }
    }

    /// The state of an endpoint that was `known` to be in another one.
    pub(super) fn state(self, known: EndpointState, health: &Health) -> EndpointState {
        let (state, needed) = match self.healthy {
            true => (EndpointState::Ready, health.healthy_after),
            false => (EndpointState::Unhealthy, health.unhealthy_after),
        };
        // the first answer counts at once: nothing else is known of the endpoint
        let counts = known == EndpointState::Starting || self.length >= needed;
        if counts { state } else { known }
    }
}
