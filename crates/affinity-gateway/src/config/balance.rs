//! `upstream.balance` and what goes with it: how endpoints of a group are chosen and left out.

use std::ops::RangeInclusive;
use std::time::Duration;

use tower_affinity::balance::{Balancing, Choice, EjectionPolicy};

use super::section::Section;
use super::span::Bounds;

/// The words of `balance`.
pub(super) const CHOICES: [(&str, Choice); 2] = [
    ("least_in_flight", Choice::LeastInFlight),
    ("peak_ewma", Choice::PeakEwma),
];

pub(super) fn read(upstream: &Section<'_>) -> Balancing {
    let choice = upstream.field("balance");
    let choice = choice.and_then(|field| field.word(&CHOICES));
    let limit = upstream.field("max_in_flight");
    let limit = limit.and_then(|field| field.integer(&IN_FLIGHT));
    let ejection = upstream.field("ejection");
    let ejection = ejection.map(|field| ejection_policy(&field.section()));
    let slow_start = upstream.field("slow_start");
    let slow_start = slow_start.and_then(|field| field.duration(&SLOW_START));
    Balancing {
        choice: choice.unwrap_or_default(),
        max_in_flight: limit.and_then(|limit| usize::try_from(limit).ok()),
        ejection: ejection.unwrap_or_default(),
        slow_start: slow_start.unwrap_or_default(),
    }
}

fn ejection_policy(section: &Section<'_>) -> EjectionPolicy {
    let default = EjectionPolicy::default();
    let failures = section.field("failures");
    let failures = failures.and_then(|field| field.integer(&FAILURES));
    let span = |name, default: Duration| {
        let read = section.field(name).and_then(|field| field.duration(&SPAN));
        read.unwrap_or(default)
    };
    let base = span("base", default.base);
    let max = span("max", default.max.max(base));
    if max < base {
        section.refuse("max", "accepted: at least ejection.base");
    }
    section.finish();
    EjectionPolicy {
        failures: failures
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(default.failures),
        base,
        max,
    }
}

const IN_FLIGHT: RangeInclusive<u64> = 1..=1_000_000;
const FAILURES: RangeInclusive<u64> = 1..=1_000;
const SPAN: Bounds = Bounds::millis(10, 86_400_000);
const SLOW_START: Bounds = Bounds::millis(0, 3_600_000);
