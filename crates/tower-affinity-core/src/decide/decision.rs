//! What the rule answers.

use super::{Absence, Fault};
use crate::{DrawKey, EndpointId, GroupId, LastMove, MoveCause, Revision, SessionId, SessionPin};

/// The rule's answer.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every outcome is a decision, and a box would cost each request an allocation"
)]
pub enum Outcome {
    /// The decision.
    Decided(Decision),
    /// A pin names a group that only a newer state can know: fetch it, wait a little, ask again.
    Behind(Revision),
}

/// What was decided for one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What kind of decision it is.
    pub kind: Kind,
    /// Why.
    pub cause: Cause,
    /// The group that serves; `None` for some refusals.
    pub group: Option<GroupId>,
    /// The session's pin as it is after this decision; `None` where there is no session.
    pub pin: Option<SessionPin>,
    /// Whether that pin is to be written on the answer.
    pub issue: bool,
    /// The part of the population that the request belongs to.
    pub cohort: Cohort,
    /// What an endpoint is chosen by, the same for all requests of the session, where the pin names
    /// none that takes it; `None` if any endpoint serves, since the session is bound to none.
    pub endpoint_key: Option<DrawKey>,
}

impl Decision {
    /// The endpoint that the session's requests go to while it lives, as far as it is known here.
    #[must_use]
    pub fn endpoint(&self) -> Option<&EndpointId> {
        self.endpoint_key?;
        self.pin.as_ref()?.endpoint.as_ref()?.known()
    }

    /// Whether the endpoint that answers is the session's from now on.
    #[must_use]
    pub fn takes_endpoint(&self) -> bool {
        let has_none = self.pin.as_ref().is_some_and(|pin| pin.endpoint.is_none());
        // of a pin above our revision nothing is changed but its times
        self.endpoint_key.is_some() && has_none && self.cause != Cause::Behind
    }

    /// Whether its answer can carry the session's pin: there is one, and the request is served.
    #[must_use]
    pub fn carries_pin(&self) -> bool {
        self.pin.is_some() && self.kind != Kind::Refused
    }

    /// Whether `served`, which answered, did so in place of the session's own endpoint: that was
    /// found to be gone only after the decision.
    #[must_use]
    pub fn has_left_for(&self, served: &EndpointId) -> bool {
        let own = self.endpoint();
        own.is_some_and(|own| own != served) && self.cause != Cause::Behind
    }

    /// The decision as it turned out for a session that left its endpoint on the way to an answer
    /// (see [`Decision::has_left_for`]): as if that had been known to be gone.
    #[must_use]
    pub fn endpoint_lost(self) -> Self {
        Self {
            cause: self.cause.endpoint_lost(),
            pin: self.pin.map(|pin| pin.at_endpoint(None)),
            ..self
        }
    }

    /// The session, where there is one.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.pin.as_ref().map(|pin| pin.session)
    }

    /// The last move of the session, until the application has seen it.
    #[must_use]
    pub fn moved_from(&self) -> Option<&LastMove> {
        self.pin.as_ref().and_then(|pin| pin.last_move.as_ref())
    }

    /// The group's name for headers and metrics: `none` without a group, `unknown` for one that
    /// only a newer state knows.
    #[must_use]
    pub fn group_label(&self) -> &str {
        match &self.group {
            Some(group) => group.name().as_str(),
            None if self.cause == Cause::Behind => "unknown",
            None => "none",
        }
    }
}

/// The kinds of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A new session was drawn.
    Assigned,
    /// A pin was obeyed.
    Pinned,
    /// A session with a pin is served by another group from now on.
    Moved,
    /// A tester has chosen the group.
    Overridden,
    /// The scope asks for no session.
    Bypassed,
    /// We answer ourselves.
    Refused,
}

impl Kind {
    /// All kinds, for closed label sets.
    pub const ALL: [Self; 6] = [
        Self::Assigned,
        Self::Pinned,
        Self::Moved,
        Self::Overridden,
        Self::Bypassed,
        Self::Refused,
    ];

    /// The word in headers and labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::Pinned => "pinned",
            Self::Moved => "moved",
            Self::Overridden => "overridden",
            Self::Bypassed => "bypassed",
            Self::Refused => "refused",
        }
    }

    /// The kind with that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|known| known.as_str() == word)
    }
}

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident => $word:literal),* $(,)?) => {
        /// Why something was decided: a closed list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Cause { $($(#[$doc])* $name),* }

        impl Cause {
            /// All causes, for closed label sets.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The word in headers and labels.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// The cause with that word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                let mut all = Self::ALL.iter().copied();
                all.find(|known| known.as_str() == word)
            }
        }
    };
}

causes! {
    /// A session begins.
    New => "new",
    /// A session begins, drawn by what its scope names.
    Keyed => "keyed",
    /// A browser may have kept its cookie back; no session.
    Withheld => "withheld",
    /// A browser's question before the real request; no session.
    Preflight => "preflight",
    /// [`Fault::Malformed`].
    Malformed => "malformed",
    /// [`Fault::WrongType`].
    WrongType => "wrong_type",
    /// [`Fault::BadSignature`].
    BadSignature => "bad_signature",
    /// [`Fault::UnknownKey`].
    UnknownKey => "unknown_key",
    /// [`Fault::WrongAudience`].
    WrongAudience => "wrong_audience",
    /// [`Fault::FromFuture`].
    FromFuture => "from_future",
    /// [`Fault::ExpiredIdle`].
    ExpiredIdle => "expired_idle",
    /// [`Fault::ExpiredMax`].
    ExpiredMax => "expired_max",
    /// [`Fault::Oversize`].
    Oversize => "oversize",
    /// [`Fault::Duplicates`].
    Duplicates => "duplicates",
    /// A session begins, drawn as if there were no store: it does not answer.
    StoreUnavailable => "store_unavailable",
    /// The pin was obeyed.
    Ok => "ok",
    /// The pin was obeyed, but another endpoint of the group serves: its own is gone.
    EndpointLost => "endpoint_lost",
    /// The pin was obeyed; its group drains.
    Draining => "draining",
    /// The pin was obeyed; it is newer than our state.
    Behind => "behind",
    /// The group is aborted, but its sessions stay until the deadline.
    AbortedStay => "aborted_stay",
    /// The group is aborted.
    Aborted => "aborted",
    /// The group is retired or unknown.
    Gone => "gone",
    /// The group has had no ready endpoint for the grace period.
    GroupDown => "group_down",
    /// The application let the session go while its group drained.
    Released => "released",
    /// A changed weight drew the session anew.
    Step => "step",
    /// The group is gone, and another has declared itself able to serve its sessions.
    Compatible => "compatible",
    /// The scope reads no pin.
    None => "none",
    /// The scope obeys a pin and writes none.
    Follow => "follow",
    /// The scope draws each request anew.
    Connection => "connection",
    /// The group is aborted and its sessions end.
    AbortedEnd => "aborted_end",
    /// No group that may take a new session has a ready endpoint.
    NoReady => "no_ready",
    /// A tester chose the group for this request.
    Granted => "granted",
    /// A tester chose the group for a session.
    Sticky => "sticky",
    /// The group that a tester chose serves nobody.
    OverrideNotRoutable => "override_not_routable",
    /// Another process serves the group.
    NotServedHere => "not_served_here",
    /// Answered before a decision.
    Early => "early",
}

impl Cause {
    /// The cause where the session's endpoint is gone as well: the first that is true is told.
    pub(crate) fn endpoint_lost(self) -> Self {
        match self {
            Self::Ok | Self::Draining => Self::EndpointLost,
            cause => cause,
        }
    }

    /// The revision of a pin that is issued anew for this cause. While the sessions of an aborted
    /// group stay, it is the pin's own, which is older than the abort: no renewal by a clock for
    /// which the deadline is still to come outranks a move by one for which it is over.
    pub(crate) fn reissued(self, pin: &SessionPin, ours: Revision) -> Revision {
        match self {
            Self::AbortedStay => pin.revision,
            _ => ours,
        }
    }
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => Self::Malformed,
            Fault::WrongType => Self::WrongType,
            Fault::BadSignature => Self::BadSignature,
            Fault::UnknownKey => Self::UnknownKey,
            Fault::WrongAudience => Self::WrongAudience,
            Fault::FromFuture => Self::FromFuture,
            Fault::ExpiredIdle => Self::ExpiredIdle,
            Fault::ExpiredMax => Self::ExpiredMax,
            Fault::Oversize => Self::Oversize,
            Fault::Duplicates => Self::Duplicates,
        }
    }
}

impl From<MoveCause> for Cause {
    fn from(cause: MoveCause) -> Self {
        match cause {
            MoveCause::Aborted => Self::Aborted,
            MoveCause::Gone => Self::Gone,
            MoveCause::GroupDown => Self::GroupDown,
            MoveCause::Released => Self::Released,
            MoveCause::Step => Self::Step,
            MoveCause::Compatible => Self::Compatible,
        }
    }
}

impl Absence {
    /// The cause of an assignment without a pin; a key only matters where nothing else does.
    pub(super) fn cause(self, keyed: bool) -> Cause {
        match self {
            Self::Preflight => Cause::Preflight,
            Self::Withheld => Cause::Withheld,
            Self::Fault(fault) => fault.into(),
            Self::StoreUnavailable => Cause::StoreUnavailable,
            Self::New if keyed => Cause::Keyed,
            Self::New => Cause::New,
        }
    }
}

/// The part of the population that a request belongs to: a canary is judged on `current` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cohort {
    /// No session, or one that something other than the draw placed at its start.
    None,
    /// Assigned since the last change of any weight.
    Current,
    /// Assigned before it.
    Established,
    /// Moved at least once.
    Moved,
}

impl Cohort {
    /// All cohorts, for closed label sets.
    pub const ALL: [Self; 4] = [Self::None, Self::Current, Self::Established, Self::Moved];

    /// The word in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Current => "current",
            Self::Established => "established",
            Self::Moved => "moved",
        }
    }

    /// The cohort with that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|known| known.as_str() == word)
    }

    pub(super) fn of(pin: &SessionPin, step_revision: Revision) -> Self {
        match (pin.placed, pin.moves) {
            (true, 0) => Self::None,
            (true, _) => Self::Moved,
            (false, _) if pin.assigned >= step_revision => Self::Current,
            (false, _) => Self::Established,
        }
    }
}
