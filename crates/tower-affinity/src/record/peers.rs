//! What is counted of requests between the processes of a service.

use metrics::{Key, Label};
use tower_affinity_core::{Cause, Fault, GroupName};

use super::names;
use super::recorder::Recorder;

/// What became of a request in a process that forwards to its peers, or was sent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerOutcome {
    /// It belongs to the group of this process, which has served it.
    Local,
    /// A peer of its group has answered.
    Forwarded,
    /// No peer of its group has answered, so we have.
    Failed,
    /// Its client went away before a peer had answered.
    Abandoned,
    /// A peer has sent it, and it was served here.
    Received,
    /// A peer has sent it for another group, and it was refused.
    Misdirected,
}

impl PeerOutcome {
    /// All outcomes, for closed label sets.
    pub(crate) const ALL: [Self; 6] = [
        Self::Local,
        Self::Forwarded,
        Self::Failed,
        Self::Abandoned,
        Self::Received,
        Self::Misdirected,
    ];

    /// The word in labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Forwarded => "forwarded",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
            Self::Received => "received",
            Self::Misdirected => "misdirected",
        }
    }
}

impl Recorder {
    /// Counts a request of `group`.
    pub(crate) fn peer(&self, group: &GroupName, outcome: PeerOutcome) {
        let series = self.series(group.as_str());
        if let Some(counter) = series.peers().get(outcome as usize) {
            let key = || {
                let outcome = Label::from_static_parts("outcome", outcome.as_str());
                Key::from_parts(names::PEER_REQUESTS, vec![series.label(), outcome])
            };
            counter.with(self.source(), key, |counter| counter.increment(1));
        }
    }

    /// Counts a mark that no peer has made, or that has expired.
    pub(crate) fn hop_rejected(&self, fault: Fault) {
        let cause = Label::from_static_parts("cause", Cause::from(fault).as_str());
        self.source().count(names::HOPS_REJECTED, vec![cause], 1);
    }
}
