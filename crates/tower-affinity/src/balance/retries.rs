//! [`Retries`]: how often a request is sent again.

use std::time::Duration;

/// How often, for how long and out of which budget a request is sent again.
///
/// By default at most two further attempts, out of a budget of 20 % of the group's requests and
/// 3 a second, with bodies of up to 64 KiB kept, and without an end in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Retries {
    pub(super) max: u32,
    pub(super) percent: u32,
    pub(super) floor: u32,
    pub(super) max_body: usize,
    pub(super) within: Option<Duration>,
}

impl Retries {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            max: 2,
            percent: 20,
            floor: 3,
            max_body: 64 * 1024,
            within: None,
        }
    }

    /// No further attempts at all; nothing is kept for them.
    pub fn none() -> Self {
        Self::new().max(0)
    }

    /// 2 by default: how many further attempts one request has.
    pub fn max(self, max: u32) -> Self {
        Self { max, ..self }
    }

    /// 20 by default: how many further attempts a group has for 100 requests, over ten seconds.
    pub fn budget_percent(self, percent: u32) -> Self {
        Self { percent, ..self }
    }

    /// 3 by default: how many further attempts a group has each second besides, over ten seconds.
    pub fn budget_floor(self, floor: u32) -> Self {
        Self { floor, ..self }
    }

    /// 65,536 by default: how many bytes of a request's body are kept to be sent again. A longer
    /// body is sent again only if nothing of it has gone out.
    pub fn max_body(self, bytes: usize) -> Self {
        Self {
            max_body: bytes,
            ..self
        }
    }

    /// Unlimited by default: no attempt begins when this time has passed since the first began.
    pub fn within(self, time: Duration) -> Self {
        Self {
            within: Some(time),
            ..self
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.max == 0
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self::new()
    }
}
