//! Many replicas: what they share, and what each says of itself.
//!
//! `engine` is the contract of the place where the shared state is kept, which the backends
//! fulfil; `shared` is the document in it; `fact` is an abort that is not in it yet,
//! `meeting` how a replica's state and the shared one become the same. `record` is
//! what a replica says of itself, `document` its text, `live` its live sessions in a `sketch`. `member` reads
//! the records of all as a [`Fleet`]; `drained` tells what is left of a group there, `checks` what
//! is wrong with a replica.

mod checks;
mod document;
mod drained;
mod engine;
mod fact;
mod live;
mod meeting;
mod member;
mod record;
mod shared;
mod sketch;
#[cfg(test)]
mod tests;

pub use self::checks::{Problem, ProblemKind};
pub use self::document::RecordError;
pub use self::drained::{Bounds, Left};
pub use self::engine::{Announced, Engine, EngineError, EngineFuture, Replaced, Stored, Version};
pub use self::fact::{Fact, Standing, obeyed, standings};
pub use self::live::LiveSketch;
pub use self::meeting::{Meeting, contribution, lost_aborts, meet};
pub use self::member::Fleet;
pub use self::record::{Acknowledged, Digest, GroupRecord, MAX_ADMIN, ReplicaRecord};
pub use self::shared::{SharedError, SharedState};
pub use self::sketch::Sketch;
