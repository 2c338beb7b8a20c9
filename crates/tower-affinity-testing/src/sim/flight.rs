//! A request on its way, and what its answer does to the session's pin.

use tower_affinity_core::{Decision, Revision, SessionPin, Timestamp};

use super::names::{Id, lifetimes};

#[derive(Debug)]
pub(super) struct Flight {
    pub(super) client: usize,
    pub(super) replica: usize,
    /// The life of the replica that took it: a crash ends what is in flight.
    pub(super) life: u32,
    pub(super) decision: Decision,
    pub(super) group: Id,
    /// The revision of the snapshot of the decision: later ones are only asked whether the group
    /// is aborted by now.
    pub(super) revision: Revision,
    pub(super) at: Timestamp,
    pub(super) streams: bool,
}

impl Flight {
    /// The pin that the answer has to carry; `None` if the client's is still good.
    pub(super) fn reissue(&self) -> Option<SessionPin> {
        let pin = self.decision.pin.as_ref()?;
        let stream = self.streams.then(|| pin.clone().streaming(lifetimes()));
        let extended = stream.filter(|stream| stream.expires > pin.expires);
        match extended {
            Some(stream) if self.decision.issue => Some(stream),
            Some(stream) => Some(stream.renewed(self.revision, self.at, lifetimes())),
            None => self.decision.issue.then(|| pin.clone()),
        }
    }
}
