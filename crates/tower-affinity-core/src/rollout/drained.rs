//! When no pin to a group can be valid any more.

use std::time::Duration;

use super::Rollout;
use crate::{AbortPolicy, GroupName, State, Timestamp};

/// How long a decision may take from its look at the rollout and the clock until its pin is known
/// to those who ask whether a group is drained: 250 ms, far above what a thread is held up for.
const DECIDING: Duration = Duration::from_millis(250);

impl Rollout {
    /// When a draining group is drained at the latest: no pin to it can be valid after that.
    ///
    /// `skew` is the clock difference that is allowed between replicas. `None` if it does not drain.
    #[must_use]
    pub fn drained_by(
        &self,
        name: &GroupName,
        max_age: Duration,
        skew: Duration,
    ) -> Option<Timestamp> {
        match self.group(name)?.state {
            State::Draining { since } => Some(since.plus(max_age).plus(skew * 2)),
            _ => None,
        }
    }

    /// The time after which no pin to a group can be valid, given the latest expiry of all pins to
    /// it that were issued or verified; `None` if it is active, so that new ones come, or unknown.
    ///
    /// A draining group's is never later than [`Rollout::drained_by`]. A staged group that never
    /// had a session needs no wait. An aborted group serves nobody, but for those who `stay`.
    #[must_use]
    pub fn drained_after(
        &self,
        name: &GroupName,
        last_expiry: Option<Timestamp>,
        max_age: Duration,
        skew: Duration,
    ) -> Option<Timestamp> {
        let expired = |expiry: Timestamp| expiry.plus(skew * 2).plus(DECIDING);
        match &self.group(name)?.state {
            State::Active => None,
            State::Staged => Some(last_expiry.map_or(Timestamp::default(), expired)),
            State::Draining { since } => {
                let last = last_expiry.map_or(*since, |expiry| expiry.max(*since));
                let bound = since.plus(max_age).plus(skew * 2);
                Some(expired(last).min(bound))
            }
            State::Aborted(abort) => Some(match abort.policy {
                AbortPolicy::Stay { until } => until,
                AbortPolicy::Move | AbortPolicy::End => abort.at,
            }),
            State::Retired { at } => Some(*at),
        }
    }
}
