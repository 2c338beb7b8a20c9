//! Faults of a real Redis under a gateway that keeps its assignments there. `AFFINITY_FAULTS=full`
//! runs the long form; each run prints what it counted.

mod failover;
mod flushed;
mod measured;
mod outages;
mod parallel;
mod split;
mod stage;
mod users;
