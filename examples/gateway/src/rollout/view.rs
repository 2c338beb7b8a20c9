//! What the admin side says of a rollout, as far as people read it.

use std::fmt::Write;

use serde::Deserialize;

use crate::output::instant;

/// The whole rollout.
#[derive(Debug, Deserialize)]
pub(super) struct RolloutView {
    pub(super) revision: u64,
    pub(super) locked: bool,
    #[serde(default)]
    shared: Option<SharedView>,
    pub(super) groups: Vec<GroupView>,
}

/// How the state that replicas share stands to what is shown.
#[derive(Debug, Deserialize)]
struct SharedView {
    in_reach: bool,
    age: u64,
    pending: u64,
    conflicts: u64,
}

impl RolloutView {
    /// What is shown holds on the asked replica only; nothing if all have it.
    pub(super) fn here_only(&self) -> Option<String> {
        let shared = self.shared.as_ref()?;
        let mut notes = Vec::new();
        if !shared.in_reach {
            notes.push(format!(
                "the shared state is out of reach for {}s",
                shared.age
            ));
        }
        if shared.pending > 0 {
            notes.push(format!("{} aborts are pending", shared.pending));
        }
        if shared.conflicts > 0 {
            notes.push(format!("{} aborts are in conflict", shared.conflicts));
        }
        let notes = (!notes.is_empty()).then(|| notes.join(", "))?;
        Some(format!(
            "{notes}: what is shown holds on the asked replica only (rollout facts)"
        ))
    }
}

/// One group. Times are seconds since the Unix epoch.
#[derive(Debug, Deserialize)]
pub(super) struct GroupView {
    pub(super) name: String,
    pub(super) state: String,
    pub(super) weight: u64,
    pub(super) stable: bool,
    pub(super) endpoints: Vec<EndpointView>,
    pub(super) in_flight: u64,
    drained_by: Option<u64>,
    pub(super) drained: bool,
    #[serde(default)]
    waits_for: Vec<String>,
    last_expiry: Option<u64>,
    abort: Option<AbortView>,
    source: Option<SourceView>,
}

/// Where its endpoints are found, as far as something is wrong there.
#[derive(Debug, Deserialize)]
struct SourceView {
    stale_seconds: u64,
    failure: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EndpointView {
    state: String,
    #[serde(default)]
    drain: bool,
}

#[derive(Debug, Deserialize)]
struct AbortView {
    target: String,
    policy: String,
    until: Option<u64>,
}

/// The answer to an accepted change.
#[derive(Debug, Deserialize)]
pub(super) struct Accepted {
    /// The revision before.
    pub(super) before: u64,
    /// The revision since.
    pub(super) revision: u64,
    pub(super) changed: bool,
    pub(super) rollout: RolloutView,
}

impl RolloutView {
    /// What is said behind the revision of a locked rollout.
    pub(super) fn lock_note(&self) -> &'static str {
        match self.locked {
            true => ", locked: only an abort is accepted until unlock",
            false => "",
        }
    }

    /// The sum of all weights that count.
    pub(super) fn total(&self) -> u64 {
        self.groups
            .iter()
            .filter(|group| group.is_active())
            .map(|group| group.weight)
            .sum()
    }
}

impl GroupView {
    /// Whether new sessions can be drawn to it.
    pub(super) fn is_active(&self) -> bool {
        self.state == "active"
    }

    /// How many endpoints take requests.
    pub(super) fn ready(&self) -> usize {
        self.endpoints
            .iter()
            .filter(|endpoint| endpoint.state == "ready")
            .count()
    }

    /// Why it is not drained.
    pub(super) fn left(&self) -> String {
        let mut left = vec![format!("{} in flight", self.in_flight)];
        if let Some(expiry) = self.last_expiry {
            left.push(format!("the last pin ends {}", instant(expiry)));
        }
        if !self.waits_for.is_empty() {
            left.push(format!(
                "waiting for the word of {} (gateway rollout forget-replica, if it is gone)",
                self.waits_for.join(", ")
            ));
        }
        if let Some(by) = self.drained_by {
            left.push(format!("drained by {} at the latest", instant(by)));
        }
        left.join(", ")
    }

    /// What the columns do not say.
    pub(super) fn notes(&self) -> String {
        let mut notes = Vec::new();
        if self.stable {
            notes.push("stable".to_owned());
        }
        match self.drained_by {
            Some(_) if self.drained => notes.push("drained".to_owned()),
            Some(by) => notes.push(format!("until {}", instant(by))),
            None => {}
        }
        if let Some(abort) = &self.abort {
            notes.push(abort.note());
        }
        let serves = matches!(self.state.as_str(), "active" | "draining");
        if serves && self.ready() == 0 {
            notes.push("no ready endpoint".to_owned());
        }
        match self.endpoints.iter().filter(|one| one.drain).count() {
            0 => {}
            1 => notes.push("1 endpoint drains".to_owned()),
            many => notes.push(format!("{many} endpoints drain")),
        }
        let source = self.source.as_ref().filter(|_| serves);
        notes.extend(source.and_then(SourceView::note));
        notes.join(", ")
    }
}

impl SourceView {
    fn note(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        Some(match self.stale_seconds {
            0 => format!("source: {failure}"),
            since => format!("source: {failure} for {since}s"),
        })
    }
}

impl AbortView {
    fn note(&self) -> String {
        let mut note = format!("to {} ({}", self.target, self.policy);
        if let Some(until) = self.until {
            // writing into a string cannot fail
            let _ = write!(note, " until {}", instant(until));
        }
        note.push(')');
        note
    }
}
