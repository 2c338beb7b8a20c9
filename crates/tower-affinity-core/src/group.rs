//! One deployment group: its identity, its share of new sessions and where it is in its life.

use std::fmt;

use thiserror::Error;

use crate::{GroupId, GroupName, Timestamp};

/// A group's relative share of new sessions: an integer from 0 to 10,000.
///
/// 0 means no new session, never "gone".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Weight(u16);

/// A weight outside of 0 to 10,000.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a weight is an integer from 0 to 10000")]
pub struct InvalidWeight;

impl Weight {
    /// No new session.
    pub const ZERO: Self = Self(0);
    /// The greatest weight.
    pub const MAX: Self = Self(10_000);

    /// A weight.
    ///
    /// # Errors
    ///
    /// If `weight` is greater than 10,000.
    pub const fn new(weight: u64) -> Result<Self, InvalidWeight> {
        if weight > Self::MAX.0 as u64 {
            Err(InvalidWeight)
        } else {
            Ok(Self(weight as u16))
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Whether no new session is wanted.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, at most [`Weight::MAX`]: a group that takes over another's share.
    #[must_use]
    pub(crate) fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).min(Self::MAX.0))
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Where a group is in its life.
///
/// ```text
///  register        weight > 0 or promote       drain, another's promote        retire
///  ────────> Staged ───────────────────> Active ──────────────────────> Draining ────> Retired
///              │                           │ <── weight > 0, promote ───── │              │
///              └──────────> Aborted <──────┴───────────────────────────────┘              │
///                              └────────── restore (generation + 1) ──> Staged <──────────┘
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Registered; no new session, but it can be chosen by name.
    Staged,
    /// New sessions by weight.
    Active,
    /// No new session; pinned ones are served.
    Draining {
        /// When it began to drain.
        since: Timestamp,
    },
    /// Its sessions are moved away.
    Aborted(Abort),
    /// Its endpoints are gone.
    Retired {
        /// When it was retired.
        at: Timestamp,
    },
}

impl State {
    /// The state's name, as the admin API and metrics show it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Active => "active",
            Self::Draining { .. } => "draining",
            Self::Aborted(_) => "aborted",
            Self::Retired { .. } => "retired",
        }
    }

    /// All names, for closed label sets.
    pub const NAMES: [&'static str; 5] = ["staged", "active", "draining", "aborted", "retired"];
}

/// What was decided when a group was aborted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Where its sessions go; never changed by a repeated abort.
    pub target: GroupId,
    /// What happens to its sessions.
    pub policy: AbortPolicy,
    /// When it was aborted.
    pub at: Timestamp,
}

/// What an abort does to the sessions that are pinned to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortPolicy {
    /// Each moves once, with its next request.
    Move,
    /// They stay until the deadline, then they move.
    Stay {
        /// The deadline.
        until: Timestamp,
    },
    /// Each is ended with its next request.
    End,
}

impl Abort {
    /// Whether sessions still stay in the aborted group at `now`.
    #[must_use]
    pub fn stays(&self, now: Timestamp) -> bool {
        matches!(self.policy, AbortPolicy::Stay { until } if now < until)
    }
}

/// A deployment group as the rollout sees it: no endpoint and no health, these change elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(crate) id: GroupId,
    pub(crate) state: State,
    pub(crate) weight: Weight,
    pub(crate) compatible_with: Vec<GroupName>,
}

impl Group {
    /// The group's identity.
    #[must_use]
    pub fn id(&self) -> &GroupId {
        &self.id
    }

    /// The group's name.
    #[must_use]
    pub fn name(&self) -> &GroupName {
        self.id.name()
    }

    /// Where it is in its life.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Its share of new sessions.
    #[must_use]
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// The groups whose sessions it declares itself able to serve.
    #[must_use]
    pub fn compatible_with(&self) -> &[GroupName] {
        &self.compatible_with
    }

    /// Whether it may be drawn for a new session, readiness aside.
    #[must_use]
    pub fn takes_new_sessions(&self) -> bool {
        matches!(self.state, State::Active) && !self.weight.is_zero()
    }
}
