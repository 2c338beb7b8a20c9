//! Any error, for what passes on those of others.

/// Any error, boxed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
