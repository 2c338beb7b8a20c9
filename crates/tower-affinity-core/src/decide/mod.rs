//! The rule: what happens to one request.
//!
//! [`decide`] is a pure function. It is asked once for a request, with one snapshot and one view;
//! the first rule that matches wins. Reading order: what goes in (`inputs`), what comes out
//! (`decision`), the rule itself (`rule`).

mod decision;
mod inputs;
#[cfg(test)]
mod properties;
mod rule;
#[cfg(test)]
mod tests;

pub use self::decision::{Cause, Cohort, Decision, Kind, Outcome};
pub use self::inputs::{Absence, Fault, Inputs, Newer, Presented, Shown};
pub use self::rule::decide;
pub(crate) use self::rule::may_release;
