//! What a store hears of a decision, and what its answer means.
//!
//! A request takes one command. It is decided on the pin that it shows; the command that tells the
//! store of the decision answers the row that stands, and only a greater pin, or any at all for a
//! client that has shown none, is decided on instead.

use tower_affinity_core::{
    Absence, Cause, Claim, Decision, GroupRef, Kind, Lifetimes, PinStore, Policy,
    Presented as Shows, RowKey, SessionId, SessionPin, Shown, StoreCall, StoreError, Terms,
    Timestamp,
};

/// What the store is told.
#[derive(Debug)]
pub(super) enum Word {
    Claim(Box<Claim>),
    Replace(RowKey, Box<SessionPin>, Terms),
    Remove(RowKey, SessionId),
}

/// What the store's answer means for the decision that it was told of.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// The decision stands.
    Stands,
    /// It stands, but the store has an older row, which the pin of the decision replaces.
    Repair,
    /// This pin stands; it is to be decided on.
    Shown(Box<SessionPin>),
    /// Whether there is a pin cannot be known.
    Unavailable,
}

impl Word {
    /// What the store is told of a decision; `None` if it has nothing to do with it.
    ///
    /// A client that shows neither a pin nor a key makes no row: its session gets one when its pin
    /// comes back.
    pub(super) fn of(
        shows: &Shows,
        policy: &Policy,
        decision: &Decision,
        now: Timestamp,
    ) -> Option<Self> {
        let pin = decision.pin.as_ref()?;
        let key = row_key(shows, pin);
        let lifetimes = policy.lifetimes;
        let claim = |evicts| {
            Some(Self::Claim(Box::new(Claim {
                key,
                pin: pin.clone(),
                terms: Terms { now, lifetimes },
                evicts,
            })))
        };
        match (decision.kind, decision.cause) {
            _ if shows.chosen.is_some() => None,
            (Kind::Refused, Cause::Gone | Cause::AbortedEnd) => {
                Some(Self::Remove(key, pin.session))
            }
            // only what has a name can be told: a code says nothing to other replicas
            _ if !matches!(pin.group, GroupRef::Known(_)) => None,
            (Kind::Pinned, _) if !decision.issue => claim(key.may_displace()),
            (Kind::Pinned | Kind::Moved, _) => Some(Self::replace(key, pin, now, lifetimes)),
            (Kind::Assigned, _) if shows.key.is_some() && is_open(shows) => claim(false),
            _ => None,
        }
    }

    pub(super) fn replace(
        key: RowKey,
        pin: &SessionPin,
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Self {
        Self::Replace(key, Box::new(pin.clone()), Terms { now, lifetimes })
    }

    /// Tells the store. What a removal answers is no row.
    pub(super) fn tell(self, store: &dyn PinStore) -> StoreCall<Option<SessionPin>> {
        match self {
            Self::Claim(claim) => store.claim(*claim).map(Some),
            Self::Replace(key, pin, terms) => store.replace(key, *pin, terms).map(Some),
            Self::Remove(key, session) => store.remove(key, session).map(|()| None),
        }
    }
}

/// The row of a session: by what the scope names, where the request has that.
pub(super) fn row_key(shows: &Shows, pin: &SessionPin) -> RowKey {
    shows
        .key
        .map_or(RowKey::Session(pin.session), RowKey::Named)
}

impl Heard {
    /// What `answer` means for `decision`, which was made on what the request `shows`.
    pub(super) fn of(
        answer: Result<Option<SessionPin>, StoreError>,
        shows: &Shows,
        decision: &Decision,
    ) -> Self {
        let has_pin = matches!(shows.shown, Shown::Pin(_));
        let (standing, ours) = match (answer, &decision.pin) {
            (Ok(Some(standing)), Some(ours)) => (standing, ours),
            (Ok(_), _) => return Self::Stands,
            // without its store a pin decides as ever; and what is wrong with another is told first
            (Err(_), _) if matches!(shows.shown, Shown::Nothing(Absence::New)) => {
                return Self::Unavailable;
            }
            (Err(_), _) => return Self::Stands,
        };
        if standing.session != ours.session {
            // the row of somebody else with the same key: the first claim wins, but not over a pin
            return if has_pin {
                Self::Stands
            } else {
                Self::Shown(Box::new(standing))
            };
        }
        if !ours.supersedes(&standing) {
            return Self::Shown(Box::new(SessionPin {
                unknown: ours.unknown.clone(),
                outcomes: ours.outcomes.and(standing.outcomes),
                arms: standing.arms.and(&ours.arms),
                ..standing
            }));
        }
        if ours.precedence() > standing.precedence() && !decision.issue {
            return Self::Repair;
        }
        Self::Stands
    }
}

/// Whether the request opens a session at all.
fn is_open(shows: &Shows) -> bool {
    !matches!(
        shows.shown,
        Shown::Nothing(Absence::Preflight | Absence::Withheld | Absence::StoreUnavailable)
    )
}
