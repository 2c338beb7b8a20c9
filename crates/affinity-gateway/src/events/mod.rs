//! What happens in a gateway that an operator wants to know of.
//!
//! Each event goes to the log (target `affinity::events`) and into a ring of the last
//! [`KEPT`] ones, which the admin side shows; so events are there without a log as well. Who reads
//! the ring remembers the last id that it has seen: nothing is queued for a slow reader.

mod ring;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tower_affinity::core::{Clock, GroupName, Timestamp};

use self::ring::Ring;

/// How many events are kept.
pub const KEPT: usize = 256;

/// How many bytes the text of an event has at most.
const LONGEST_TEXT: usize = 1024;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Greater than that of every earlier event, also of those before a restart: at least the time
    /// in milliseconds since the Unix epoch.
    pub id: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What it is about.
    pub kind: Kind,
    /// The group that it is about, if it is one.
    pub group: Option<GroupName>,
    /// What happened, for people; at most 1 KiB.
    pub text: String,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The rollout changed.
    Rollout,
    /// A draining group is drained, or is not any more.
    Drained,
    /// Endpoints came into use or went out of it.
    Endpoint,
    /// An abort that only this replica obeys.
    Fact,
    /// The state that replicas share.
    Shared,
    /// What the other replicas show of this one.
    Replica,
    /// Whether the gateway takes clients.
    Ready,
    /// An edit of the configuration.
    Config,
    /// Sessions that lost their authentication.
    Login,
    /// What the comparison of a canary says.
    Verdict,
}

impl Kind {
    /// Its name, as the admin side has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Drained => "drained",
            Self::Endpoint => "endpoint",
            Self::Fact => "fact",
            Self::Shared => "shared",
            Self::Replica => "replica",
            Self::Ready => "ready",
            Self::Config => "config",
            Self::Login => "login",
            Self::Verdict => "verdict",
        }
    }
}

/// Tells events and keeps the last ones. Clones share them.
#[derive(Clone)]
pub struct Events(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    ring: Mutex<Ring>,
    told: watch::Sender<()>,
}

impl Events {
    /// No events yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            clock,
            ring: Mutex::default(),
            told: watch::Sender::default(),
        }))
    }

    /// Something happened.
    pub fn info(&self, kind: Kind, group: Option<&GroupName>, text: &str) {
        let (about, group_name) = (kind.as_str(), group.map(GroupName::as_str));
        tracing::info!(target: "affinity::events", kind = about, group = group_name, "{text}");
        self.keep(kind, group, text);
    }

    /// Something happened that somebody should look at.
    pub fn warn(&self, kind: Kind, group: Option<&GroupName>, text: &str) {
        let (about, group_name) = (kind.as_str(), group.map(GroupName::as_str));
        tracing::warn!(target: "affinity::events", kind = about, group = group_name, "{text}");
        self.keep(kind, group, text);
    }

    /// As [`Events::info`], for what the log has already.
    pub(crate) fn keep(&self, kind: Kind, group: Option<&GroupName>, text: &str) {
        let at = self.0.clock.now();
        self.ring(|ring| ring.push(at, kind, group.cloned(), shortened(text)));
        self.0.told.send_replace(());
    }

    /// The events after the one with that id, the earliest first: all that are kept if there is
    /// none, or if that id is still to come.
    #[must_use]
    pub fn after(&self, id: Option<u64>) -> Vec<Arc<Event>> {
        self.ring(|ring| ring.after(id))
    }

    /// A receiver that is told whenever something happened.
    #[must_use]
    pub fn told(&self) -> watch::Receiver<()> {
        self.0.told.subscribe()
    }

    fn ring<T>(&self, look: impl FnOnce(&mut Ring) -> T) -> T {
        // an event is pushed as a whole, so the ring is whole after a panic too
        let mut ring = self.0.ring.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut ring)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

/// At most so long, cut between characters.
fn shortened(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let room = LONGEST_TEXT - '…'.len_utf8();
    let ends = text.char_indices().map(|(at, char)| at + char.len_utf8());
    let cut = ends.take_while(|end| *end <= room).last().unwrap_or(0);
    format!("{}…", text.get(..cut).unwrap_or_default())
}

#[cfg(test)]
mod tests;
