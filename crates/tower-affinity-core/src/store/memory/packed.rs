//! A row as it lies in memory: 80 bytes.

use super::chunked::Number;
use super::names::Names;
use crate::{
    ArmCodes, EndpointRef, GroupRef, LastMove, MoveCause, Outcomes, Revision, RowKey, SessionId,
    SessionPin, Timestamp, UnknownClaims,
};

/// A key and its pin, without names.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    key: [u64; 2],
    session: [u64; 2],
    revision: u64,
    assigned: u64,
    started: u32,
    issued: u32,
    expires: u32,
    /// When it has ended, by its expiry and by the age of its session.
    pub(super) ends: u32,
    moves: u32,
    /// Where the session lives.
    pub(super) place: Option<Number>,
    /// The group that it has left last.
    pub(super) from: Option<Number>,
    moved_at: u32,
    cause: u8,
    flags: u8,
    outcomes: u16,
}

const NAMED: u8 = 1;
const PLACED: u8 = 2;
const RELEASED: u8 = 4;

/// Whether a row says all that its pin does. Another is kept whole beside it.
pub(super) fn is_whole(pin: &SessionPin) -> bool {
    let last = pin.last_move.as_ref();
    let times = [pin.started, pin.issued, pin.expires].into_iter();
    let fits = |time: Timestamp| time == Timestamp::from_secs(second(time).into());
    times.chain(last.map(|last| last.at)).all(fits)
        && last.is_none_or(|last| last.from.known().is_some() && last.cause.known().is_some())
        && pin.arms.is_empty()
        && pin.unknown.is_empty()
}

/// The second of a time, as far as it has one of 32 bits.
pub(super) fn second(time: Timestamp) -> u32 {
    time.as_secs().try_into().unwrap_or(u32::MAX)
}

impl Packed {
    pub(super) fn new(
        key: RowKey,
        pin: &SessionPin,
        place: Option<Number>,
        from: Option<Number>,
        ends: u32,
    ) -> Self {
        let last = pin.last_move.as_ref();
        let cause = last.and_then(|last| last.cause.known());
        let (is_named, key) = Self::bits(key);
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        Self {
            key: halves(key),
            session: halves(pin.session.bits()),
            revision: pin.revision.0,
            assigned: pin.assigned.0,
            started: second(pin.started),
            issued: second(pin.issued),
            expires: second(pin.expires),
            ends,
            moves: pin.moves,
            place,
            from,
            moved_at: last.map_or(0, |last| second(last.at)),
            cause: cause.map_or(0, |cause| cause as u8),
            flags: flag(is_named, NAMED) | flag(pin.placed, PLACED) | flag(pin.released, RELEASED),
            outcomes: pin.outcomes.bits(),
        }
    }

    /// A key as rows hold it.
    pub(super) fn bits(key: RowKey) -> (bool, u128) {
        (matches!(key, RowKey::Named(_)), key.parts().1)
    }

    pub(super) fn key(&self) -> (bool, u128) {
        (self.flags & NAMED != 0, joined(self.key))
    }

    pub(super) fn touch(&mut self, pin: &SessionPin, ends: u32) {
        self.issued = second(pin.issued);
        self.expires = second(pin.expires);
        self.ends = ends;
    }

    pub(super) fn session(&self) -> SessionId {
        SessionId::from_random(joined(self.session))
    }

    /// The pin, if it was [whole](is_whole).
    pub(super) fn pin(&self, names: &Names) -> Option<SessionPin> {
        let (group, endpoint) = names.of(self.place?)?;
        let last_move = self.from.and_then(|from| {
            Some(LastMove {
                from: GroupRef::Known(names.of(from)?.0.clone()),
                at: Timestamp::from_secs(self.moved_at.into()),
                cause: (*MoveCause::ALL.get(usize::from(self.cause))?).into(),
            })
        });
        Some(SessionPin {
            session: self.session(),
            group: GroupRef::Known(group.clone()),
            started: Timestamp::from_secs(self.started.into()),
            issued: Timestamp::from_secs(self.issued.into()),
            expires: Timestamp::from_secs(self.expires.into()),
            revision: Revision(self.revision),
            assigned: Revision(self.assigned),
            moves: self.moves,
            last_move,
            endpoint: endpoint.cloned().map(EndpointRef::Known),
            placed: self.flags & PLACED != 0,
            released: self.flags & RELEASED != 0,
            outcomes: Outcomes::from_bits(self.outcomes),
            arms: ArmCodes::default(),
            unknown: UnknownClaims::default(),
        })
    }
}

/// Bits as two words, which need less alignment than one of 128 bits.
const fn halves(bits: u128) -> [u64; 2] {
    [(bits >> 64) as u64, bits as u64]
}

const fn joined([high, low]: [u64; 2]) -> u128 {
    (high as u128) << 64 | low as u128
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_row_is_as_small_as_it_says() {
        assert_eq!(size_of::<super::Packed>(), 80);
    }
}
