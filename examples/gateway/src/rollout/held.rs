//! Where a change is held, and what is to be done where that is not everywhere.

use serde::Deserialize;

use crate::exit::{Exit, Failure};

/// What the admin side says of it.
#[derive(Debug, Deserialize)]
pub(super) struct Held {
    held: String,
    #[serde(default)]
    why: String,
}

impl Held {
    /// Whether all replicas have it, or will.
    pub(super) fn is_everywhere(&self) -> bool {
        self.held != "replica"
    }

    /// Whether a restart of the asked replica would forget it.
    pub(super) fn is_unkept(&self) -> bool {
        self.why == "not-kept"
    }

    /// How a verb ends that was asked of one replica.
    pub(super) fn conclude(&self) -> Result<(), Failure> {
        if self.is_everywhere() {
            return Ok(());
        }
        let (kind, detail, advice) = if self.is_unkept() {
            (
                "not-kept",
                "the change is in force on the asked replica and not kept on its disk",
                "a restart of it would forget the change: mend its state file's directory, then \
                 repeat it",
            )
        } else {
            (
                "out-of-reach",
                "the change is in force on the asked replica only: the shared state is out of reach",
                "repeat it with --admin URL for each replica; each passes it on by itself once the \
                 state is back (gateway rollout facts shows what is not passed on)",
            )
        };
        Err(Failure::new(Exit::HereOnly, kind, detail).advice(advice))
    }

    /// The same for people, beside others.
    pub(super) fn note(&self) -> &'static str {
        match (self.is_everywhere(), self.is_unkept()) {
            (true, _) => "in force, in the shared state",
            (false, true) => "in force, and not kept: a restart forgets it",
            (false, false) => "in force, and passed on once the shared state is in reach",
        }
    }
}
