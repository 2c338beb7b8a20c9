//! A decision as a gateway tells it to an endpoint, in words.

use thiserror::Error;

use super::{Cause, Cohort, Decision, Kind};
use crate::{
    GroupCode, GroupId, GroupName, GroupRef, LastMove, Lifetimes, Revision, SessionId, SessionPin,
    Timestamp, ToldCause,
};

/// The words of a decision, as the headers between a gateway and an endpoint hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    /// `affinity-group`: the name of the group that serves.
    pub group: &'a str,
    /// `affinity-decision`: `DECISION; cause=CAUSE`.
    pub decision: &'a str,
    /// `affinity-session`: the id of the session, where there is one.
    pub session: Option<&'a str>,
    /// `affinity-moved-from`: `NAME; at=UNIX; cause=CAUSE`, until the application has seen the move.
    pub moved_from: Option<&'a str>,
}

/// Words that no gateway tells.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NotTold {
    /// One of them has not its form.
    #[error("the words of a decision have not the form of one")]
    Malformed,
    /// They do not go together.
    #[error("the words of a decision contradict each other")]
    Contradictory,
}

impl Decision {
    /// The decision that somebody else has made and told.
    ///
    /// What is not told is left open: the generation of every group is 0, which none has, the cohort is
    /// `none`, nothing is to be issued, and the session's pin holds the session and its last move, with
    /// all times and revisions 0, so that it is valid at no time. A cause of a later release is
    /// [`Cause::None`].
    ///
    /// # Errors
    ///
    /// If the words have not their form, or if they do not go together.
    pub fn told(words: Told<'_>) -> Result<Self, NotTold> {
        let (kind, cause) = decided(words.decision).ok_or(NotTold::Malformed)?;
        let group = named(words.group).ok_or(NotTold::Malformed)?;
        let session: Option<SessionId> = match words.session {
            Some(session) => Some(session.parse().map_err(|_| NotTold::Malformed)?),
            None => None,
        };
        let last = match words.moved_from {
            Some(text) => Some(moved(text).ok_or(NotTold::Malformed)?),
            None => None,
        };
        if !go_together(kind, cause, session.is_some(), last.is_some()) {
            return Err(NotTold::Contradictory);
        }
        Ok(Self {
            pin: session.map(|session| SessionPin::told(session, group.clone(), last)),
            kind,
            cause,
            group: Some(group),
            issue: false,
            cohort: Cohort::None,
            endpoint_key: None,
        })
    }
}

impl SessionPin {
    /// A pin of which only this is told.
    fn told(session: SessionId, group: GroupId, last_move: Option<LastMove>) -> Self {
        let never = Timestamp::default();
        let pin = Self::new(session, group, Revision(0), never, Lifetimes::default());
        Self {
            expires: never,
            moves: u32::from(last_move.is_some()),
            last_move,
            ..pin
        }
    }
}

/// `DECISION; cause=CAUSE`.
fn decided(text: &str) -> Option<(Kind, Cause)> {
    let (kind, cause) = text.split_once(';')?;
    let kind = Kind::parse(kind)?;
    let cause = cause.trim_start().strip_prefix("cause=")?;
    match Cause::parse(cause) {
        Some(cause) => Some((kind, cause)),
        None => is_word(cause).then_some((kind, Cause::None)),
    }
}

/// `NAME; at=UNIX; cause=CAUSE`.
fn moved(text: &str) -> Option<LastMove> {
    let (from, rest) = text.split_once(';')?;
    let (at, cause) = rest.trim_start().strip_prefix("at=")?.split_once(';')?;
    // a sign is a form of a number for the library, and none of ours
    let digits = at.bytes().all(|byte| byte.is_ascii_digit());
    let at = at.parse().ok().filter(|_| digits)?;
    let cause = cause.trim_start().strip_prefix("cause=")?;
    Some(LastMove {
        from: match from {
            "unknown" => GroupRef::Unknown(GroupCode::new([0; 10])),
            name => GroupRef::Known(named(name)?),
        },
        at: Timestamp::from_secs(at),
        cause: ToldCause::parse(cause)?,
    })
}

fn named(name: &str) -> Option<GroupId> {
    let name: GroupName = name.parse().ok()?;
    Some(GroupId::new(name, 0))
}

fn is_word(text: &str) -> bool {
    let of_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (1..=32).contains(&text.len()) && text.bytes().all(of_word)
}

/// Whether a gateway decides so and forwards the request.
fn go_together(kind: Kind, cause: Cause, session: bool, moved: bool) -> bool {
    let of_kind = match kind {
        Kind::Pinned => session,
        Kind::Moved => session && moved,
        // answered by the gateway itself
        Kind::Refused => false,
        Kind::Assigned | Kind::Overridden | Kind::Bypassed => true,
    };
    let of_cause = match cause {
        Cause::Withheld | Cause::Preflight | Cause::Connection | Cause::Granted => !session,
        _ => true,
    };
    of_kind && of_cause && (session || !moved)
}
