//! Many replicas: what they share, and what each says of itself.
//!
//! `engine` is the contract of the place where the shared state is kept; the backends fulfil it.
//! `record` is what a replica says of itself, `document` its text, `sketch` its live sessions.

mod document;
mod engine;
mod record;
mod sketch;
#[cfg(test)]
mod tests;

pub use self::document::RecordError;
pub use self::engine::{Announced, Engine, EngineError, EngineFuture, Replaced, Stored, Version};
pub use self::record::{Acknowledged, Digest, GroupRecord, MAX_ADMIN, ReplicaRecord};
pub use self::sketch::Sketch;
