//! Commit affinity for tower and axum: a session stays on the commit on which it began.

/// The rules and values, without I/O.
pub use tower_affinity_core as core;
