//! What the rule is given.

use crate::{
    DrawKey, DrawSalt, GroupName, LiveCounts, Override, Policy, Readiness, Rollout, SessionId,
    SessionPin, Timestamp,
};

/// Everything that a decision depends on.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// What the client showed.
    pub presented: &'a Presented,
    /// What the request's scope asks for; `None` if it is in no scope.
    pub policy: Option<&'a Policy>,
    /// The snapshot of all groups.
    pub rollout: &'a Rollout,
    /// Which groups have a ready endpoint here.
    pub ready: &'a dyn Readiness,
    /// How many sessions live where, if they are counted.
    pub live: &'a LiveCounts,
    /// The salt of the service.
    pub salt: &'a DrawSalt,
    /// The group that this very process is, if it is one: a balancer in front has drawn already.
    pub serving: Option<Serving<'a>>,
    /// The request's one reading of the clock.
    pub now: Timestamp,
    /// Where a fresh session id comes from, of the system's random generator. It is asked at most once,
    /// and only where a session begins or each request is drawn anew.
    pub fresh: &'a dyn Fn() -> SessionId,
    /// What is known about a newer state of the rollout.
    pub newer: Newer,
}

impl std::fmt::Debug for Inputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inputs")
            .field("presented", self.presented)
            .field("policy", &self.policy)
            .field("revision", &self.rollout.revision())
            .field("now", &self.now)
            .field("newer", &self.newer)
            .finish_non_exhaustive()
    }
}

/// The group that this very process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serving<'a> {
    /// The group.
    pub group: &'a GroupName,
    /// What becomes of a request that belongs to another group.
    pub forwarding: Forwarding,
}

/// What becomes of a request that belongs to another group than that of the process it has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarding {
    /// It is refused. New sessions are the process's own.
    #[default]
    Never,
    /// It is taken there. New sessions are the process's own while its group is active.
    Foreign,
    /// It is taken there, and new sessions are drawn by weight, whichever process they reach.
    ByWeight,
}

/// What the client showed, trusted or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Presented {
    /// The one pin that counts, or why there is none.
    pub shown: Shown,
    /// What the scope draws by, where it names something that the request has.
    pub key: Option<DrawKey>,
    /// A tester's choice of a group.
    pub chosen: Option<Override>,
    /// The group that an unsigned hint names, where the scope reads one.
    pub hint: Option<GroupName>,
    /// Whether a browser loads a whole page, where the scope asks.
    pub page_load: bool,
}

impl Default for Presented {
    /// A client's first request, which shows nothing.
    fn default() -> Self {
        Self {
            shown: Shown::Nothing(Absence::New),
            key: None,
            chosen: None,
            hint: None,
            page_load: false,
        }
    }
}

/// The one pin that counts, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// A valid pin.
    Pin(Box<SessionPin>),
    /// None.
    Nothing(Absence),
}

/// Why a request has no pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// None was sent.
    New,
    /// A browser's question before the real request, which never carries a cookie.
    Preflight,
    /// A browser may have kept its cookie back.
    Withheld,
    /// What was sent is no valid pin.
    Fault(Fault),
    /// None was sent, and the store that may have one does not answer.
    StoreUnavailable,
}

/// What is wrong with something that was sent as a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It has not the form of a pin.
    Malformed,
    /// It is a token of another kind.
    WrongType,
    /// We did not sign it.
    BadSignature,
    /// It names a key that is not in the ring.
    UnknownKey,
    /// It is for another service.
    WrongAudience,
    /// It was issued more than five minutes from now.
    FromFuture,
    /// It was not used for too long.
    ExpiredIdle,
    /// Its session is too old.
    ExpiredMax,
    /// It is too long to be one.
    Oversize,
    /// There are more candidates than are looked at.
    Duplicates,
}

/// What is known about a newer state of the rollout than the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newer {
    /// Nobody has asked yet.
    Unasked,
    /// Asked, but there was no proof in time that the snapshot is the newest.
    Unproven {
        /// When a pin above our revision was first seen.
        behind_since: Timestamp,
    },
    /// A fresh read, or having no other source than ourselves, proves that there is none.
    Proved,
}
