//! What the stories share.

mod cluster;
mod link;
mod moves;
mod traffic;

pub(crate) use cluster::{BAD, Cluster, Member, OTHER, STABLE};
pub(crate) use moves::Moves;
pub(crate) use traffic::Traffic;
