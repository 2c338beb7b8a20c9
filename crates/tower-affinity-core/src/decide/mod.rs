//! The rule: what happens to one request.
//!
//! [`decide`] is a pure function. It is asked once for a request, with one snapshot and one view;
//! the first rule that matches wins. Reading order: what goes in (`inputs`), what comes out
//! (`decision`), the rule itself (`rule`), and what it calls: the view (`lost`), this process
//! (`here`), testers (`overrides`), changed weights (`step`), endpoints (`endpoint`), groups that can
//! serve each other's sessions (`compatible`), unsigned hints (`hint`).
//! `told` reads what another process has decided.

mod compatible;
mod decision;
mod endpoint;
mod here;
mod hint;
mod inputs;
mod lost;
mod overrides;
#[cfg(test)]
mod properties;
mod rule;
mod step;
#[cfg(test)]
mod tests;
mod told;

pub use self::decision::{Cause, Cohort, Decision, Kind, Outcome};
pub use self::hint::{Hinted, hinted};
pub use self::inputs::{Absence, Fault, Forwarding, Inputs, Newer, Presented, Serving, Shown};
pub use self::rule::decide;
pub(crate) use self::rule::may_release;
pub use self::told::{NotTold, Told};
