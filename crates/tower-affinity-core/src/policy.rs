//! What a scope asks of the rule, and how long a pin lives.

use std::time::Duration;

use thiserror::Error;

/// How strongly the requests of a scope are bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// No pin is read; the stable group serves.
    None,
    /// A valid pin is obeyed and never written; without one the stable group serves. For assets.
    Follow,
    /// No pin; each request is drawn on a fresh key.
    Connection,
    /// Any endpoint of the commit on which the session began.
    #[default]
    Group,
    /// The same endpoint while it lives, else another of the same commit.
    Endpoint,
    /// Any endpoint of the commit on which the session began; once that is gone, of one that
    /// declares itself able to serve its sessions
    /// ([`Rollout::declare`](crate::Rollout::declare)).
    Version,
}

impl Level {
    /// Whether requests of this level have a session: a valid pin is obeyed and renewed, and one is
    /// issued where there is none.
    #[must_use]
    pub const fn has_session(self) -> bool {
        match self {
            Self::None | Self::Follow | Self::Connection => false,
            Self::Group | Self::Endpoint | Self::Version => true,
        }
    }
}

/// What happens to a session whose group is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnGone {
    /// It is moved by weights.
    #[default]
    Move,
    /// It is refused (409), and a group without a ready endpoint is waited for (503).
    Strict,
}

/// What a changed weight means for the sessions of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnStep {
    /// Nothing: it draws only new sessions.
    #[default]
    Keep,
    /// Each session is drawn anew, once, with its next request: as few of them move as the draw
    /// promises, and a canary is no sample of newcomers only. Sessions that something other than
    /// the draw has placed stay, and so do all where a balancer in front has drawn.
    Reassign,
}

/// What a full page load means for the session of a group that drains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnNavigation {
    /// Nothing: it stays until its flow or its pin ends.
    #[default]
    Keep,
    /// It moves to the stable group if that is ready, as if its application had let it go: a new
    /// page asks for its own assets and knows its own calls, so that this is a safe point. A group
    /// that is active is never left.
    Latest,
}

/// How long a pin is valid: idle (refreshed by use) and in all (never refreshed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    idle: Duration,
    max_age: Duration,
}

/// Lifetimes that contradict each other.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum LifetimesError {
    /// Tokens carry whole seconds, so a lifetime under a second means nothing.
    #[error("the idle lifetime {0:?} is shorter than 1s")]
    TooShort(Duration),
    /// The idle lifetime is greater than the whole one.
    #[error("the idle lifetime {idle:?} is longer than the whole lifetime {max_age:?}")]
    IdleOverMaxAge {
        /// The idle lifetime.
        idle: Duration,
        /// The whole lifetime.
        max_age: Duration,
    },
    /// The routing clock does not outlast the application's local one.
    #[error(
        "three quarters of the idle lifetime {idle:?} is {guaranteed:?}, not longer than the \
         application's own idle timeout {local:?}"
    )]
    LocalOutlastsRouting {
        /// The idle lifetime.
        idle: Duration,
        /// What a pin guarantees of it.
        guaranteed: Duration,
        /// The application's own idle timeout.
        local: Duration,
    },
}

impl Lifetimes {
    /// Lifetimes of a pin.
    ///
    /// # Errors
    ///
    /// If `idle` is under a second or longer than `max_age`.
    pub const fn new(idle: Duration, max_age: Duration) -> Result<Self, LifetimesError> {
        if idle.as_secs() == 0 {
            return Err(LifetimesError::TooShort(idle));
        }
        if idle.as_nanos() > max_age.as_nanos() {
            return Err(LifetimesError::IdleOverMaxAge { idle, max_age });
        }
        Ok(Self { idle, max_age })
    }

    /// Checks the two clocks: what a pin guarantees must outlast the application's own timeout.
    ///
    /// # Errors
    ///
    /// If `local` is not shorter than three quarters of the idle lifetime.
    pub fn outlasts(self, local: Duration) -> Result<Self, LifetimesError> {
        let guaranteed = self.idle - self.idle / 4;
        if local >= guaranteed {
            return Err(LifetimesError::LocalOutlastsRouting {
                idle: self.idle,
                guaranteed,
                local,
            });
        }
        Ok(self)
    }

    /// The idle lifetime, refreshed by use.
    #[must_use]
    pub const fn idle(self) -> Duration {
        self.idle
    }

    /// The whole lifetime, from the session's start.
    #[must_use]
    pub const fn max_age(self) -> Duration {
        self.max_age
    }
}

impl Default for Lifetimes {
    /// 30 minutes idle, 4 hours in all.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30 * 60),
            max_age: Duration::from_secs(4 * 60 * 60),
        }
    }
}

/// What one scope asks of the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// How strongly its requests are bound.
    pub level: Level,
    /// What happens to a session whose group is gone.
    pub on_gone: OnGone,
    /// What a changed weight means for its sessions.
    pub on_step: OnStep,
    /// What a full page load means for the session of a group that drains.
    pub on_navigation: OnNavigation,
    /// Whether new sessions go where the fewest live for the weight, as far as they are counted; by
    /// default the draw alone decides.
    pub least_loaded: bool,
    /// How long its pins live.
    pub lifetimes: Lifetimes,
}
