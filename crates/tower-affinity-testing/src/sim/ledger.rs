//! What was really issued: the oracle looks here and opens no token.

use tower_affinity_core::{MoveCause, SessionPin};

use super::names::{Id, Millis, SKEW, TA, id_of};
use super::place::Place;

/// One issued pin.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) token: String,
    pub(super) session: u128,
    pub(super) id: Id,
    pub(super) started: Millis,
    pub(super) issued: Millis,
    pub(super) expires: Millis,
    pub(super) revision: u64,
    pub(super) assigned: u64,
    pub(super) moves: u32,
    pub(super) placed: bool,
    pub(super) released: bool,
    /// The endpoint that it names.
    pub(super) endpoint: Option<Place>,
    /// The key that signed it.
    pub(super) key: usize,
    /// The group that the session last left because it was aborted.
    pub(super) left: Option<Id>,
}

impl Entry {
    /// `None` if the pin names no group that its issuer knows.
    /// `endpoint` is the one that it has to name.
    pub(super) fn new(
        pin: &SessionPin,
        endpoint: Option<Place>,
        token: String,
        key: usize,
    ) -> Option<Self> {
        let left = pin
            .last_move
            .as_ref()
            .filter(|last| last.cause == MoveCause::Aborted);
        Some(Self {
            token,
            key,
            session: pin.session.bits(),
            id: id_of(pin.group.known()?),
            started: pin.started.as_millis(),
            issued: pin.issued.as_millis(),
            expires: pin.expires.as_millis(),
            revision: pin.revision.0,
            assigned: pin.assigned.0,
            moves: pin.moves,
            placed: pin.placed,
            released: pin.released,
            endpoint,
            left: left.and_then(|last| last.from.known()).map(id_of),
        })
    }

    /// Whether it is a valid pin by a clock that shows `now`.
    pub(super) fn is_valid(&self, now: Millis) -> bool {
        let latest = now + SKEW.as_millis() as Millis;
        self.issued <= latest
            && self.started <= latest
            && now < self.expires
            && now < self.started + TA.as_millis() as Millis
    }

    /// What decides between several valid pins.
    pub(super) fn rank(&self) -> (u64, u32, Millis) {
        (self.revision, self.moves, self.issued)
    }
}
