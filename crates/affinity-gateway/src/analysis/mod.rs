//! Canaries beside the stable group: what all replicas have counted of both since the last step.
//!
//! `judged` puts the counts together and asks [`compare`](tower_affinity::core::analysis::compare);
//! `changes` says which verdicts are new, `watch` tells them and, where the configuration wants it,
//! aborts a canary that is worse.

mod changes;
mod judged;
mod watch;

pub(crate) use self::judged::{Canary, Judged};
pub(crate) use self::watch::watch;

#[cfg(test)]
mod tests;
