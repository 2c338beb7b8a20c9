//! What an abort would move, asked of the rule and not done.

use tower_affinity::core::{
    AbortPolicy, AbortRequest, AlwaysReady, Group, Kind, Rollout, Timestamp,
};

use super::asking::Asking;
use super::play::Play;
use super::report::AbortReport;
use super::session::Phase;

impl Play<'_> {
    /// What an abort of `group` at `now` would do to the sessions that are live then.
    pub(super) fn abort(&self, rollout: &Rollout, group: &Group, now: Timestamp) -> AbortReport {
        let policy = self.rules.abort_policy(now);
        let request = AbortRequest {
            policy: Some(policy),
            ..AbortRequest::default()
        };
        let change = self.rules.change(rollout, now);
        let aborted = match rollout.abort(group.name(), &request, &AlwaysReady, change) {
            Ok(aborted) => aborted,
            Err(refusal) => {
                return AbortReport::Refused {
                    why: refusal.to_string(),
                };
            }
        };
        // under `stay` they move at the deadline
        let asked = match policy {
            AbortPolicy::Stay { until } => until,
            AbortPolicy::Move | AbortPolicy::End => now,
        };
        let phase = Phase {
            rules: &self.rules,
            rollout: &aborted,
            think: self.plan.traffic.think,
            from: asked,
            until: asked,
        };
        let mut asking = Asking::new();
        let (mut moves, mut ends, mut to) = (0, 0, None);
        let place = self.rules.place(group.id());
        for session in self.live.iter().filter(|session| session.place == place) {
            let decision = asking.ask(&phase, &mut session.clone(), asked);
            match decision.map(|decision| (decision.kind, decision.group)) {
                Some((Kind::Moved, group)) => {
                    moves += 1;
                    to = group;
                }
                Some((Kind::Refused, _)) => ends += 1,
                // its pin is over: it will be assigned anew in any case
                _ => {}
            }
        }
        AbortReport::Possible {
            moves,
            ends,
            to: to.map(|group| group.name().to_string()),
        }
    }
}
