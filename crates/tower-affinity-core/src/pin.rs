//! The pin: "session S is served by group G since T, issued at I, under rollout revision R".

mod outcomes;
mod times;

use std::fmt;
use std::sync::Arc;

use crate::{
    ArmCodes, EndpointCode, EndpointId, GroupCode, GroupId, Lifetimes, Revision, SessionId,
    Timestamp,
};

pub use self::outcomes::Outcomes;
pub(crate) use self::times::SKEW;

/// The group that a pin names, as far as this replica can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRef {
    /// A group of the rollout, or one whose tombstone is still kept.
    Known(GroupId),
    /// A code that no group of this replica has.
    Unknown(GroupCode),
}

impl GroupRef {
    /// The group's id, if it is known here.
    #[must_use]
    pub fn known(&self) -> Option<&GroupId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Unknown(_) => None,
        }
    }

    /// The name for headers and metrics; `unknown` for a code that nobody here knows.
    #[must_use]
    pub fn label(&self) -> &str {
        self.known().map_or("unknown", |id| id.name().as_str())
    }
}

/// The endpoint that a pin names, as far as this replica can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointRef {
    /// An endpoint of the pin's group.
    Known(EndpointId),
    /// A code that no endpoint of the group has here.
    Unknown(EndpointCode),
}

impl EndpointRef {
    /// The endpoint's id, if it is known here.
    #[must_use]
    pub fn known(&self) -> Option<&EndpointId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Unknown(_) => None,
        }
    }
}

/// Why a session was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MoveCause {
    /// Its group was aborted.
    Aborted,
    /// Its group is retired or unknown.
    Gone,
    /// Its group has had no ready endpoint for the grace period.
    GroupDown,
    /// The application let it go at a safe point while its group drained.
    Released,
    /// A changed weight drew it anew.
    Step,
    /// Its group is gone, and another one has declared itself able to serve its sessions.
    Compatible,
}

impl MoveCause {
    /// All causes.
    pub const ALL: [Self; 6] = [
        Self::Aborted,
        Self::Gone,
        Self::GroupDown,
        Self::Released,
        Self::Step,
        Self::Compatible,
    ];

    /// The word on the wire and in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Gone => "gone",
            Self::GroupDown => "group_down",
            Self::Released => "released",
            Self::Step => "step",
            Self::Compatible => "compatible",
        }
    }
}

/// The cause of a move as a pin tells it: one of ours, or the word of a later release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldCause(Told);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Known(MoveCause),
    Later(Arc<str>),
}

impl ToldCause {
    /// The longest word of a later release that is kept, so that every pin still fits.
    const MAX: usize = 16;

    /// The word on the wire and in headers.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Told::Known(cause) => cause.as_str(),
            Told::Later(word) => word,
        }
    }

    /// The cause, if this release has it.
    #[must_use]
    pub fn known(&self) -> Option<MoveCause> {
        match self.0 {
            Told::Known(cause) => Some(cause),
            Told::Later(_) => None,
        }
    }

    /// Reads a word; `None` if it can be none of any release.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(cause) = MoveCause::ALL.into_iter().find(|c| c.as_str() == text) {
            return Some(cause.into());
        }
        let is_word = (1..=Self::MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        is_word.then(|| Self(Told::Later(text.into())))
    }
}

impl From<MoveCause> for ToldCause {
    fn from(cause: MoveCause) -> Self {
        Self(Told::Known(cause))
    }
}

impl PartialEq<MoveCause> for ToldCause {
    fn eq(&self, cause: &MoveCause) -> bool {
        self.known() == Some(*cause)
    }
}

/// The last move of a session, remembered until the application has seen it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastMove {
    /// The group that it left.
    pub from: GroupRef,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub cause: ToldCause,
}

/// Claims that this release does not know, kept for the one that wrote them.
#[derive(Clone, Default, PartialEq)]
pub struct UnknownClaims(pub(crate) Option<Box<serde_json::Map<String, serde_json::Value>>>);

impl UnknownClaims {
    /// Claims that something has kept which nobody signed, such as a store: those under names that
    /// mean something to us, or bind a token to one moment or reader, are dropped, or the token that
    /// carries them would say two things, and we would sign it.
    pub(crate) fn unsigned(mut claims: serde_json::Map<String, serde_json::Value>) -> Self {
        claims.retain(|name, _| !MEANT.contains(&name.as_str()));
        Self((!claims.is_empty()).then(|| Box::new(claims)))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|claims| claims.is_empty())
    }
}

/// The claims of a pin that mean something to this release.
const MEANT: [&str; 20] = [
    "aud", "sid", "grp", "sst", "iat", "exp", "rev", "arv", "mv", "mf", "mt", "mc", "ep", "out",
    "arm", "fx", "rl", "nbf", "crit", "jti",
];

impl fmt::Debug for UnknownClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} claims",
            self.0.as_ref().map_or(0, |claims| claims.len())
        )
    }
}

/// A session's pin, opened and checked or about to be sealed.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPin {
    /// The session.
    pub session: SessionId,
    /// The group that serves it.
    pub group: GroupRef,
    /// When the session began; no re-issue changes it.
    pub started: Timestamp,
    /// When this pin was issued.
    pub issued: Timestamp,
    /// When this pin ends unless it is renewed.
    pub expires: Timestamp,
    /// The rollout's revision at this issue.
    pub revision: Revision,
    /// The rollout's revision at the assignment.
    pub assigned: Revision,
    /// How often the session was moved.
    pub moves: u32,
    /// The last move, until the application has seen it.
    pub last_move: Option<LastMove>,
    /// The endpoint of the group that serves the session, at level
    /// [`Endpoint`](crate::Level::Endpoint).
    pub endpoint: Option<EndpointRef>,
    /// Whether something other than the draw placed the session; never removed.
    pub placed: bool,
    /// Whether the application let the session go: it moves once that is possible.
    pub released: bool,
    /// What became of the session so far.
    pub outcomes: Outcomes,
    /// The arms of experiments that the session was given; no move and no re-issue changes them.
    pub arms: ArmCodes,
    /// Claims of other releases.
    pub unknown: UnknownClaims,
}

impl SessionPin {
    /// The pin of a session that begins now.
    #[must_use]
    pub fn new(
        session: SessionId,
        group: GroupId,
        revision: Revision,
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Self {
        let started = now.whole_secs();
        Self {
            session,
            group: GroupRef::Known(group),
            started,
            issued: started,
            expires: expiry(started, started, lifetimes),
            revision,
            assigned: revision,
            moves: 0,
            last_move: None,
            endpoint: None,
            placed: false,
            released: false,
            outcomes: Outcomes::default(),
            arms: ArmCodes::default(),
            unknown: UnknownClaims::default(),
        }
    }

    /// Whether enough of the idle lifetime is used for a renewal: a quarter.
    #[must_use]
    pub fn is_due(&self, now: Timestamp, lifetimes: Lifetimes) -> bool {
        now.since(self.issued) >= lifetimes.idle() / 4
            && self.expires < self.started.plus(lifetimes.max_age()).whole_secs()
    }

    /// The same pin, issued anew: a later expiry, never an earlier one.
    #[must_use]
    pub fn renewed(&self, revision: Revision, now: Timestamp, lifetimes: Lifetimes) -> Self {
        self.clone().reissued(revision, now, lifetimes)
    }

    fn reissued(self, revision: Revision, now: Timestamp, lifetimes: Lifetimes) -> Self {
        let issued = now.whole_secs().max(self.issued);
        Self {
            issued,
            expires: self.expires.max(expiry(issued, self.started, lifetimes)),
            revision: self.revision.max(revision),
            ..self
        }
    }

    /// The pin of the session after its move to `group`.
    #[must_use]
    pub fn moved(
        &self,
        group: GroupId,
        cause: MoveCause,
        revision: Revision,
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Self {
        Self {
            group: GroupRef::Known(group),
            moves: self.moves.saturating_add(1),
            last_move: Some(LastMove {
                from: self.group.clone(),
                at: now.whole_secs(),
                cause: cause.into(),
            }),
            endpoint: None,
            placed: true,
            released: false,
            ..self.renewed(revision, now, lifetimes)
        }
    }

    /// The pin of a session that the weights of revision `drawn` have drawn anew, to its own group
    /// or to another: it counts as placed by the draw, as before.
    #[must_use]
    pub fn drawn_anew(
        &self,
        group: GroupId,
        drawn: Revision,
        revision: Revision,
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Self {
        let pin = if self.group.known() == Some(&group) {
            self.renewed(revision, now, lifetimes).held()
        } else {
            self.moved(group, MoveCause::Step, revision, now, lifetimes)
        };
        Self {
            assigned: drawn,
            placed: self.placed,
            ..pin
        }
    }

    /// The pin of a session whose requests go to `endpoint` of its group from now on; `None` for
    /// whichever serves the next one.
    #[must_use]
    pub fn at_endpoint(self, endpoint: Option<EndpointId>) -> Self {
        Self {
            endpoint: endpoint.map(EndpointRef::Known),
            ..self
        }
    }

    /// The pin after the application said that the session may leave its group.
    #[must_use]
    pub fn released(self) -> Self {
        Self {
            released: true,
            ..self
        }
    }

    /// The pin of a session that was let go, but has nowhere to go any more.
    #[must_use]
    pub fn held(self) -> Self {
        Self {
            released: false,
            ..self
        }
    }

    /// The pin after the application said that it has seen the last move.
    #[must_use]
    pub fn move_seen(self) -> Self {
        Self {
            last_move: None,
            ..self
        }
    }

    /// The pin of a session of which this has become known as well.
    #[must_use]
    pub fn turned_out(self, news: Outcomes) -> Self {
        Self {
            outcomes: self.outcomes.and(news),
            ..self
        }
    }

    /// The pin of a session that is in use for as long as a stream is open: it has all its time.
    #[must_use]
    pub fn streaming(self, lifetimes: Lifetimes) -> Self {
        let end = self.started.plus(lifetimes.max_age()).whole_secs();
        Self {
            expires: self.expires.max(end),
            ..self
        }
    }

    /// What decides between several valid pins of one request: the greatest wins.
    #[must_use]
    pub fn precedence(&self) -> impl Ord + use<> {
        (self.revision, self.moves, self.issued)
    }

    /// Whether this pin takes the place of `standing`: it is a later one of the same session, or an
    /// equally late one of the same group, which an answer has added something to. Of two moves in
    /// one second, the first stands.
    #[must_use]
    pub fn supersedes(&self, standing: &Self) -> bool {
        let of_session = self.session == standing.session;
        let (ours, theirs) = (self.precedence(), standing.precedence());
        of_session && (ours > theirs || (ours == theirs && self.group == standing.group))
    }

    /// The pin of a session that was seen in use: renewed if that is due, and nothing else.
    #[must_use]
    pub fn touched(self, now: Timestamp, lifetimes: Lifetimes) -> Self {
        if self.is_due(now, lifetimes) {
            let revision = self.revision;
            self.reissued(revision, now, lifetimes)
        } else {
            self
        }
    }
}

/// `exp` = min(`iat` + `Ti`, `sst` + `Ta`), in whole seconds.
fn expiry(issued: Timestamp, started: Timestamp, lifetimes: Lifetimes) -> Timestamp {
    issued
        .plus(lifetimes.idle())
        .min(started.plus(lifetimes.max_age()))
        .whole_secs()
}
