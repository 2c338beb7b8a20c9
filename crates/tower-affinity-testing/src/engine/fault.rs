//! [`Fault`]: how an engine in memory fails.

use std::time::Duration;

use tower_affinity_core::Stored;

/// What is wrong between a replica and the engine, until a test changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every call ends with an error at once; those that wait for a change as well.
    OutOfReach,
    /// No call is answered or has an effect before this ends, as with a stopped process.
    Silent,
    /// Every call has its effect and its answer only after that time (tokio's time).
    Slow(Duration),
    /// Who reads, or waits for a change, gets this instead of the document.
    Lies(Stored),
}
