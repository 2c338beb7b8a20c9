//! `upstream.retries`: how often a request is sent again.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::section::Section;

/// How often a request is sent again, and out of which budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retries {
    /// How many further attempts a request has.
    pub max: u32,
    /// How many further attempts a group has for 100 requests.
    pub budget_percent: u32,
    /// How many it has each second besides.
    pub budget_floor: u32,
    /// How many bytes of a body are kept to be sent again.
    pub max_body: u32,
}

impl Retries {
    /// What the balancer is told: no attempt begins later than `within` after the first.
    pub(crate) fn policy(&self, within: Duration) -> tower_affinity::balance::Retries {
        tower_affinity::balance::Retries::new()
            .max(self.max)
            .budget_percent(self.budget_percent)
            .budget_floor(self.budget_floor)
            .max_body(usize::try_from(self.max_body).unwrap_or(usize::MAX))
            .within(within)
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            max: 2,
            budget_percent: 20,
            budget_floor: 3,
            max_body: 65_536,
        }
    }
}

pub(super) fn read(section: &Section<'_>) -> Retries {
    let number = |name, range: &RangeInclusive<u64>, default| {
        let read = section.field(name).and_then(|field| field.integer(range));
        read.and_then(|n| u32::try_from(n).ok()).unwrap_or(default)
    };
    let default = Retries::default();
    let retries = Retries {
        max: number("max", &ATTEMPTS, default.max),
        budget_percent: number("budget_percent", &PERCENT, default.budget_percent),
        budget_floor: number("budget_floor", &FLOOR, default.budget_floor),
        max_body: number("max_body", &BYTES, default.max_body),
    };
    section.finish();
    retries
}

const ATTEMPTS: RangeInclusive<u64> = 0..=10;
const PERCENT: RangeInclusive<u64> = 0..=100;
const FLOOR: RangeInclusive<u64> = 0..=10_000;
/// What one request may hold in memory.
const BYTES: RangeInclusive<u64> = 0..=16_777_216;
