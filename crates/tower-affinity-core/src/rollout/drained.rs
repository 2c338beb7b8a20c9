//! When no pin to a group can be valid any more.

use std::time::Duration;

use super::Rollout;
use crate::{Abort, AbortPolicy, GroupName, State, Timestamp};

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
    ///
    /// This is so for one replica, which begins no session after the drain; many ask
    /// [`Fleet::left`](crate::Fleet::left).
    #[must_use]
    pub fn drained_after(
        &self,
        name: &GroupName,
        last_expiry: Option<Timestamp>,
        max_age: Duration,
        skew: Duration,
    ) -> Option<Timestamp> {
        let state = &self.group(name)?.state;
        let ended = state.ended().unwrap_or_default();
        let quiet = state.quiet_after(last_expiry, ended, max_age)?;
        Some(quiet.plus(state.apart(skew)))
    }
}

impl State {
    /// The time by which a state names the end of new sessions: since when the group drains, when
    /// it was aborted or retired. `None` while new sessions can begin.
    #[must_use]
    pub fn ended(&self) -> Option<Timestamp> {
        match self {
            Self::Staged | Self::Active => None,
            Self::Draining { since } => Some(*since),
            Self::Aborted(Abort { at, .. }) | Self::Retired { at } => Some(*at),
        }
    }

    /// The time after which a replica takes no pin to the group any more, by its own clock; `None`
    /// while new sessions are drawn there.
    ///
    /// `last_expiry` is the latest of all pins that were issued or verified anywhere, `ended` when
    /// the last replica has put in force that a draining group takes no new sessions.
    pub(crate) fn quiet_after(
        &self,
        last_expiry: Option<Timestamp>,
        ended: Timestamp,
        max_age: Duration,
    ) -> Option<Timestamp> {
        match self {
            Self::Active => None,
            Self::Staged => {
                Some(last_expiry.map_or(Timestamp::default(), |last| last.plus(DECIDING)))
            }
            Self::Draining { .. } => {
                let last = last_expiry.map_or(ended, |last| last.max(ended));
                Some(last.plus(DECIDING).min(ended.plus(max_age)))
            }
            Self::Aborted(abort) => Some(match abort.policy {
                AbortPolicy::Stay { until } => until,
                AbortPolicy::Move | AbortPolicy::End => abort.at,
            }),
            Self::Retired { at } => Some(*at),
        }
    }

    /// What to wait from [`State::quiet_after`] on until it has passed by every replica's clock:
    /// the clock that is looked at may be `skew` ahead of the true time, and another as much
    /// behind it. Where nobody is served any more, no clock matters.
    pub(crate) fn apart(&self, skew: Duration) -> Duration {
        match self {
            Self::Staged | Self::Active | Self::Draining { .. } => skew * 2,
            Self::Aborted(Abort {
                policy: AbortPolicy::Stay { .. },
                ..
            }) => skew * 2,
            Self::Aborted(_) | Self::Retired { .. } => Duration::ZERO,
        }
    }
}
