//! What an answer does to its session's pin.

use crate::decide::may_release;
use crate::{
    Cause, Decision, EndpointId, GroupId, GroupRef, Kind, Lifetimes, Outcomes, Readiness, Rollout,
    SessionPin, Timestamp,
};

#[cfg(test)]
mod tests;

/// What an answer says about its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The flow is complete: the pin is cleared, whatever else is said.
    pub end: bool,
    /// The session may leave a group that drains.
    pub release: bool,
    /// The application knows of the session's last move.
    pub moved_seen: bool,
    /// What has become of the session, by what the application says and by the answer itself.
    pub outcomes: Outcomes,
}

/// An answer that can carry a pin, and what is needed of its request.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// What was decided.
    pub decision: &'a Decision,
    /// The snapshot that it was decided on: later ones are only asked whether a group is aborted by
    /// now, so that a session's pins stay in the order of decisions.
    pub rollout: &'a Rollout,
    /// Which groups have a ready endpoint here.
    pub ready: &'a dyn Readiness,
    /// The request's one reading of the clock.
    pub at: Timestamp,
    /// How long the scope's pins live.
    pub lifetimes: Lifetimes,
    /// What the answer says.
    pub said: Said,
    /// The endpoint that answered, if what is inside tells.
    pub served_by: Option<&'a EndpointId>,
    /// Whether the answer is a stream or a tunnel, which uses its session for as long as it lasts.
    pub streams: bool,
}

impl std::fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("decision", self.decision)
            .field("revision", &self.rollout.revision())
            .field("at", &self.at)
            .field("said", &self.said)
            .field("served_by", &self.served_by)
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

/// What is done to the pin that a client holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// Nothing: there is none, or it is still good, or no pin may be written.
    Kept,
    /// It is taken away.
    Cleared,
    /// The answer carries this one.
    Written(Box<SessionPin>),
}

/// Settles the pin of an answer.
///
/// `is_aborted` is asked of the newest snapshot, at the moment of the answer, and only if a pin
/// would be written: none is to a group that was aborted meanwhile, so that a slow answer cannot
/// lead a session back. A first pin is still written: the session keeps its id and moves with its
/// next request.
pub fn settle(answer: &Answer<'_>, is_aborted: impl FnOnce(&GroupId) -> bool) -> Settled {
    let decision = answer.decision;
    let Some(pin) = &decision.pin else {
        return Settled::Kept;
    };
    if answer.said.end {
        return Settled::Cleared;
    }
    let Some(pin) = answer.reissued(pin) else {
        return Settled::Kept;
    };
    let withdrawn = match &pin.group {
        GroupRef::Known(id) => decision.kind != Kind::Assigned && is_aborted(id),
        GroupRef::Unknown(_) => false,
    };
    if withdrawn {
        Settled::Kept
    } else {
        Settled::Written(Box::new(pin))
    }
}

impl Answer<'_> {
    /// The pin that the answer has to carry; `None` if the client's is still good.
    fn reissued(&self, pin: &SessionPin) -> Option<SessionPin> {
        // a pin above our revision is renewed in its times and outcomes only; the rest will be said
        // again
        let ours = self.decision.cause != Cause::Behind;
        let moved_seen = ours && self.said.moved_seen && pin.last_move.is_some();
        let release = ours && self.said.release && self.may_release();
        let stream = self.streams.then(|| pin.clone().streaming(self.lifetimes));
        let extended = stream.filter(|stream| stream.expires > pin.expires);
        let decision = self.decision;
        // a first endpoint, or another in place of one that was found to be gone
        let takes = |served: &_| decision.takes_endpoint() || decision.has_left_for(served);
        let taken = self.served_by.filter(|served| takes(served));
        let issue = self.decision.issue;
        let news = self.said.outcomes.without(pin.outcomes);
        let changes = moved_seen || release || taken.is_some() || extended.is_some();
        let changes = changes || !news.is_empty();
        if !issue && !changes {
            return None;
        }
        let pin = extended.unwrap_or_else(|| pin.clone());
        let pin = if issue {
            pin
        } else {
            let revision = self.decision.cause.reissued(&pin, self.rollout.revision());
            pin.renewed(revision, self.at, self.lifetimes)
        };
        let pin = pin.turned_out(news);
        let pin = match taken {
            Some(endpoint) => pin.at_endpoint(Some(endpoint.clone())),
            None => pin,
        };
        let pin = if moved_seen { pin.move_seen() } else { pin };
        Some(if release { pin.released() } else { pin })
    }

    /// Whether the session could leave with its next request, for all that its decision knew.
    fn may_release(&self) -> bool {
        let group = self.decision.group.as_ref();
        group.is_some_and(|group| may_release(self.rollout, self.ready, group))
    }
}
