//! What a rollout plan would do, without doing it.
//!
//! [`Plan`] is a file of steps and of the traffic to play them on; [`simulate`] plays it with
//! synthetic sessions and answers a [`Report`]. Where a session goes is asked of the rule itself
//! ([`tower_affinity::core::decide`]), on the rollout that the verbs themselves make, with the
//! lifetimes, the scope and the groups of a configuration.
//!
//! A session's decision depends on its pin, the rollout and the time. As long as the rollout is the
//! same and the pin needs no renewal, each request is decided as the one before, so only those are
//! played that can be decided otherwise (`session`). Time is counted, not read, and all chance comes
//! from one seed, so the same plan gives the same report for ever.

mod abort;
mod arrivals;
mod asking;
mod chart;
mod dice;
mod failures;
mod gate;
mod plan;
mod play;
mod report;
mod rules;
mod session;
mod spread;
mod step;
mod tally;
mod traffic;

pub use self::chart::{lines, svg};
pub use self::failures::Failures;
pub use self::plan::{Capacity, Plan, PlanError};
pub use self::play::simulate;
pub use self::report::{
    AbortReport, CanaryReport, Drain, GateReport, GroupReport, Report, Sample, StepReport,
};
pub use self::spread::{Length, Think};
pub use self::step::{Gate, Step, Turn};
pub use self::traffic::Traffic;

#[cfg(test)]
mod tests;
