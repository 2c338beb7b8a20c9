//! The form of a row in a store outside of the process.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{RowKey, Terms};
use crate::{
    ArmCodes, EndpointId, EndpointRef, Fault, GroupCode, GroupId, GroupName, GroupRef, LastMove,
    Outcomes, Revision, ServiceName, SessionPin, Timestamp, ToldCause, UnknownClaims,
};

/// The greatest length of a row in bytes; a longer one is not looked at.
pub const MAX_ROW: usize = 4096;

/// The version of the rows that this release writes and reads.
const VERSION: u32 = 1;

/// Writes and reads the rows of one service.
///
/// A row is JSON. It names its service and its key, so that one which a store returns for another
/// is noticed, and holds what a pin holds, with names instead of codes.
#[derive(Clone, Debug)]
pub struct RowCodec {
    service: ServiceName,
}

/// Why a row that a store has returned counts as absent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
pub enum RowFault {
    /// It is longer than [`MAX_ROW`].
    #[error("the row is longer than {MAX_ROW} bytes")]
    Oversize,
    /// It is cut off, or not of the form of a row.
    #[error("the row is malformed")]
    Malformed,
    /// Another release has written it in a form that this one does not read.
    #[error("the row is of another version")]
    Version,
    /// It belongs to another service.
    #[error("the row belongs to another service")]
    Service,
    /// It belongs to another key.
    #[error("the row belongs to another key")]
    Key,
    /// It was written by a clock that is more than five minutes ahead.
    #[error("the row is from the future")]
    FromFuture,
    /// It has ended: swept or not, it is not there.
    #[error("the row has ended")]
    Ended,
}

impl RowFault {
    /// All faults, for closed label sets.
    pub const ALL: [Self; 7] = [
        Self::Oversize,
        Self::Malformed,
        Self::Version,
        Self::Service,
        Self::Key,
        Self::FromFuture,
        Self::Ended,
    ];

    /// The word in logs and labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Oversize => "oversize",
            Self::Malformed => "malformed",
            Self::Version => "version",
            Self::Service => "service",
            Self::Key => "key",
            Self::FromFuture => "from_future",
            Self::Ended => "ended",
        }
    }
}

/// Whether a row counts: its own expiry and the age of its session as configured now, whatever a
/// sweep has done.
///
/// # Errors
///
/// Why it does not.
pub fn is_current(pin: &SessionPin, terms: Terms) -> Result<(), RowFault> {
    match pin.check_times(terms.now, terms.lifetimes) {
        Ok(()) => Ok(()),
        Err(Fault::FromFuture) => Err(RowFault::FromFuture),
        Err(_) => Err(RowFault::Ended),
    }
}

#[derive(Serialize, Deserialize)]
struct VersionOnly {
    v: u32,
}

#[derive(Serialize, Deserialize)]
struct Document {
    v: u32,
    aud: String,
    key: String,
    sid: String,
    grp: GroupDocument,
    sst: u64,
    iat: u64,
    exp: u64,
    rev: u64,
    arv: u64,
    mv: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<LastDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ep: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fx: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rl: bool,
    #[serde(default, skip_serializing_if = "is_none")]
    out: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arm: Option<String>,
    /// Claims of the pin that this release does not know.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    more: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum GroupDocument {
    Known { name: String, generation: u32 },
    Code { code: String },
}

#[derive(Serialize, Deserialize)]
struct LastDocument {
    from: GroupDocument,
    at: u64,
    cause: String,
}

impl RowCodec {
    /// A codec for the rows of `service`.
    #[must_use]
    pub fn new(service: ServiceName) -> Self {
        Self { service }
    }

    /// The service whose rows these are.
    #[must_use]
    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    /// A pin as a row.
    #[must_use]
    pub fn encode(&self, key: RowKey, pin: &SessionPin) -> String {
        let document = Document {
            v: VERSION,
            aud: self.service.as_str().to_owned(),
            key: key.to_string(),
            sid: pin.session.to_string(),
            grp: (&pin.group).into(),
            sst: pin.started.as_secs(),
            iat: pin.issued.as_secs(),
            exp: pin.expires.as_secs(),
            rev: pin.revision.0,
            arv: pin.assigned.0,
            mv: pin.moves,
            last: pin.last_move.as_ref().map(|last| LastDocument {
                from: (&last.from).into(),
                at: last.at.as_secs(),
                cause: last.cause.as_str().to_owned(),
            }),
            // a code says nothing to other replicas: the endpoint is chosen anew then
            ep: pin
                .endpoint
                .as_ref()
                .and_then(EndpointRef::known)
                .map(|endpoint| endpoint.as_str().to_owned()),
            fx: pin.placed,
            rl: pin.released,
            out: pin.outcomes.bits(),
            arm: pin.arms.encode(),
            more: pin.unknown.0.as_deref().cloned().unwrap_or_default(),
        };
        // a struct of strings and numbers has no map key that could fail
        serde_json::to_string(&document).unwrap_or_default()
    }

    /// Reads what a store has returned for `key`.
    ///
    /// # Errors
    ///
    /// If it is none of ours, or has ended: it counts as absent then.
    pub fn decode(&self, key: RowKey, row: &[u8], terms: Terms) -> Result<SessionPin, RowFault> {
        if row.len() > MAX_ROW {
            return Err(RowFault::Oversize);
        }
        let VersionOnly { v } = read(row)?;
        if v != VERSION {
            return Err(RowFault::Version);
        }
        let document: Document = read(row)?;
        if document.aud != self.service.as_str() {
            return Err(RowFault::Service);
        }
        let is_named = document.key == key.to_string();
        let pin = pin(document).ok_or(RowFault::Malformed)?;
        let is_of_session = match key {
            RowKey::Session(session) => session == pin.session,
            RowKey::Named(_) => true,
        };
        if !is_named || !is_of_session {
            return Err(RowFault::Key);
        }
        is_current(&pin, terms)?;
        Ok(pin)
    }

    /// A pin's [precedence](SessionPin::precedence) as text of 50 digits, in the same order: for
    /// stores that can compare texts only.
    #[must_use]
    pub fn rank(pin: &SessionPin) -> String {
        let (revision, moves, issued) = (pin.revision.0, pin.moves, pin.issued.as_secs());
        format!("{revision:020}{moves:010}{issued:020}")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(outcomes: &u16) -> bool {
    *outcomes == 0
}

fn read<'de, T: Deserialize<'de>>(row: &'de [u8]) -> Result<T, RowFault> {
    serde_json::from_slice(row).map_err(|_| RowFault::Malformed)
}

fn pin(document: Document) -> Option<SessionPin> {
    let last_move = match document.last {
        None => None,
        Some(last) => Some(LastMove {
            from: last.from.read()?,
            at: Timestamp::from_secs(last.at),
            cause: ToldCause::parse(&last.cause)?,
        }),
    };
    let group = document.grp.read()?;
    group.known()?;
    Some(SessionPin {
        session: document.sid.parse().ok()?,
        group,
        started: Timestamp::from_secs(document.sst),
        issued: Timestamp::from_secs(document.iat),
        expires: Timestamp::from_secs(document.exp),
        revision: Revision(document.rev),
        assigned: Revision(document.arv),
        moves: document.mv,
        last_move,
        endpoint: document
            .ep
            .map(|endpoint| EndpointRef::Known(EndpointId::new(&endpoint))),
        placed: document.fx,
        released: document.rl,
        outcomes: Outcomes::from_bits(document.out),
        arms: document
            .arm
            .map_or_else(ArmCodes::default, |text| ArmCodes::decode(&text)),
        unknown: UnknownClaims::unsigned(document.more),
    })
}

impl From<&GroupRef> for GroupDocument {
    fn from(group: &GroupRef) -> Self {
        match group {
            GroupRef::Known(id) => Self::Known {
                name: id.name().as_str().to_owned(),
                generation: id.generation(),
            },
            GroupRef::Unknown(code) => Self::Code {
                code: code.encode(),
            },
        }
    }
}

impl GroupDocument {
    fn read(&self) -> Option<GroupRef> {
        match self {
            Self::Known { name, generation } => {
                let name: GroupName = name.parse().ok()?;
                Some(GroupRef::Known(GroupId::new(name, *generation)))
            }
            Self::Code { code } => GroupCode::decode(code).map(GroupRef::Unknown),
        }
    }
}
