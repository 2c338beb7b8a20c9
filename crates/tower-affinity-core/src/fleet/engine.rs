//! [`Engine`]: the place where replicas share what must agree.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

/// What an engine answers later.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send + 'a>>;

/// The place where replicas share what must agree: one document that is changed by
/// compare-and-set, and a record of each replica that says whether it is alive.
///
/// An engine knows nothing of what it keeps. It must be linearizable: an accepted
/// [`replace`](Engine::replace) is durable, and every [`read`](Engine::read) that begins after it
/// sees it or what came later. A future that is dropped leaves the engine as it is, or with the
/// change made.
pub trait Engine: fmt::Debug + Send + Sync + 'static {
    /// Reads the document as it is now, never a stale copy.
    fn read(&self) -> EngineFuture<'_, Stored>;

    /// Replaces the document if it still has that version; [`Version::NONE`] creates it.
    ///
    /// After an error the document may have been replaced all the same: its answer can be lost on
    /// the way.
    fn replace(&self, version: Version, document: String) -> EngineFuture<'_, Replaced>;

    /// Waits until the document has another version than `seen`, and answers it as it is then.
    ///
    /// It may wait for ever where the engine was set back to an earlier state: who waits reads
    /// now and then as well.
    fn changed(&self, seen: Version) -> EngineFuture<'_, Stored>;

    /// Writes the record of a replica, which is alive from now on for `lapse` (whole seconds, at
    /// least 1) unless it announces itself again.
    fn announce<'a>(
        &'a self,
        replica: &'a str,
        record: String,
        lapse: Duration,
    ) -> EngineFuture<'a, ()>;

    /// Writes the last record of a replica, which is not alive any more.
    fn depart<'a>(&'a self, replica: &'a str, record: String) -> EngineFuture<'a, ()>;

    /// Removes the record of a replica; `false` if there was none.
    fn forget<'a>(&'a self, replica: &'a str) -> EngineFuture<'a, bool>;

    /// The records of all replicas that are not forgotten, by name.
    fn records(&self) -> EngineFuture<'_, Vec<Announced>>;
}

/// The version of a document: another one after every replacement. It says nothing of what is in
/// it, and can fall where an engine is set back to an earlier state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub u64);

impl Version {
    /// The version of a document that does not exist.
    pub const NONE: Self = Self(0);
}

/// The document as an engine has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What was written; `None` if there is nothing.
    pub document: Option<String>,
    /// Its version.
    pub version: Version,
}

/// The answer to a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The document was replaced and has this version now.
    Done(Version),
    /// Somebody else has changed it before; nothing was done.
    Lost,
}

/// The record of one replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The name of the replica.
    pub replica: String,
    /// What it said last.
    pub record: String,
    /// Whether its lease runs.
    pub alive: bool,
}

/// An engine that did not answer as it should.
#[derive(Debug)]
pub struct EngineError(Box<dyn Error + Send + Sync>);

impl EngineError {
    /// An error with its cause, which must name no secret.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the shared state is out of reach")
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
