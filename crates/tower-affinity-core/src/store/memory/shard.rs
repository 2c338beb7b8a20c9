//! One shard: the rows of some keys, and what is done with them under one lock.

use std::sync::Arc;

use super::chunked::Number;
use super::packed::second;
use super::shared::Shared;
use super::table::Table;
use super::wheel::{LAST, Wheel};
use crate::store::is_current;
use crate::{
    Claim, EndpointRef, GroupRef, Lifetimes, RowKey, SessionId, SessionPin, Terms, Timestamp,
};

/// How many rows are looked at in one sweep under the lock.
const SWEPT: u32 = 1 << 10;

/// How many rows are looked at, at most, for the one that ends next: all of a shard of the usual
/// size. Each look puts a row where it belongs by now, so that so many are rare.
const COMPARED: u32 = super::ROWS_PER_SHARD as u32;

#[derive(Debug)]
pub(super) struct Shard {
    table: Table,
    wheel: Wheel,
    capacity: usize,
    shared: Arc<Shared>,
}

impl Shard {
    pub(super) fn new(capacity: usize, shared: Arc<Shared>) -> Self {
        Self {
            table: Table::new(capacity, Arc::clone(&shared.counts)),
            wheel: Wheel::new(),
            capacity,
            shared,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// The most rows that it holds.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn load(&self, key: RowKey, terms: Terms) -> Option<SessionPin> {
        let pin = self.table.pin(self.table.find(key)?)?;
        self.counts(&pin, terms).then_some(pin)
    }

    pub(super) fn claim(&mut self, claim: Claim) -> SessionPin {
        let Claim {
            key,
            pin,
            terms: terms @ Terms { now, lifetimes },
            evicts,
        } = claim;
        if let Some((row, standing)) = self.standing(key, terms) {
            if !standing.is_due(now, lifetimes) {
                return standing;
            }
            let pin = standing.touched(now, lifetimes);
            let (old, ends) = (self.table.ends(row), ends(&pin, lifetimes));
            self.table.touch(row, &pin, ends);
            self.refile(row, old, ends, now);
            return pin;
        }
        if !is_kept(&pin, terms) || !self.has_room(now, evicts) {
            return pin;
        }
        let pin = named(pin).touched(now, lifetimes);
        self.insert(key, &pin, terms);
        pin
    }

    pub(super) fn replace(&mut self, key: RowKey, pin: SessionPin, terms: Terms) -> SessionPin {
        match self.standing(key, terms) {
            Some((row, standing)) if is_kept(&pin, terms) && pin.supersedes(&standing) => {
                let expires = pin.expires.max(standing.expires);
                let pin = named(SessionPin { expires, ..pin });
                self.update(row, key, &pin, terms);
                pin
            }
            Some((_, standing)) => standing,
            None if is_kept(&pin, terms) && self.has_room(terms.now, key.may_displace()) => {
                let pin = named(pin);
                self.insert(key, &pin, terms);
                pin
            }
            None => pin,
        }
    }

    pub(super) fn remove(&mut self, key: RowKey, session: SessionId) {
        if let Some(row) = self.table.find(key)
            && self.table.session(row) == session
        {
            self.take(row);
        }
    }

    /// Lets go of rows that have ended. Whether that were all.
    pub(super) fn sweep(&mut self, now: Timestamp) -> bool {
        let mut looks = SWEPT;
        let now = reach(now);
        let (wheel, table) = (&mut self.wheel, &mut self.table);
        while let Some(row) = wheel.take_ended(now, &mut looks, |row| table.ends(row)) {
            table.remove(row);
        }
        looks > 0
    }

    /// The row that stands. One that does not is not there any more.
    fn standing(&mut self, key: RowKey, terms: Terms) -> Option<(Number, SessionPin)> {
        let row = self.table.find(key)?;
        let pin = self.table.pin(row)?;
        if self.counts(&pin, terms) {
            return Some((row, pin));
        }
        self.take(row);
        None
    }

    /// Whether a row counts that was found.
    fn counts(&self, pin: &SessionPin, terms: Terms) -> bool {
        let current = is_current(pin, terms);
        if let Err(fault) = current {
            self.shared.was_absent(fault);
        }
        current.is_ok()
    }

    /// Makes room for a row, if it may.
    fn has_room(&mut self, now: Timestamp, evicts: bool) -> bool {
        if self.len() < self.capacity {
            return true;
        }
        self.sweep(now);
        if self.len() < self.capacity {
            return true;
        }
        if !evicts {
            return false;
        }
        let next = self.wheel.nearest(COMPARED, |row| self.table.ends(row));
        if let Some(row) = next {
            self.take(row);
        }
        next.is_some()
    }

    fn insert(&mut self, key: RowKey, pin: &SessionPin, terms: Terms) {
        let ends = ends(pin, terms.lifetimes);
        let row = self.table.insert(key, pin, ends);
        self.file(row, ends, terms.now);
    }

    fn update(&mut self, row: Number, key: RowKey, pin: &SessionPin, terms: Terms) {
        let (old, ends) = (self.table.ends(row), ends(pin, terms.lifetimes));
        self.table.update(row, key, pin, ends);
        self.refile(row, old, ends, terms.now);
    }

    /// A row ends later now, and stays filed where it is; or earlier, with shorter lifetimes.
    fn refile(&mut self, row: Number, old: u32, ends: u32, now: Timestamp) {
        if ends < old {
            self.wheel.take(row);
            self.file(row, ends, now);
        }
    }

    fn file(&mut self, row: Number, ends: u32, now: Timestamp) {
        if self.wheel.file(row, ends, reach(now)) {
            self.shared.filed_back();
        }
    }

    fn take(&mut self, row: Number) {
        self.wheel.take(row);
        self.table.remove(row);
    }
}

/// Whether a pin may be stored at all: it counts, and its group has a name.
fn is_kept(pin: &SessionPin, terms: Terms) -> bool {
    is_current(pin, terms).is_ok() && matches!(pin.group, GroupRef::Known(_))
}

/// A pin as rows hold it: the code of an endpoint says nothing once the pin is read by others.
fn named(pin: SessionPin) -> SessionPin {
    let endpoint = pin
        .endpoint
        .filter(|endpoint| matches!(endpoint, EndpointRef::Known(_)));
    SessionPin { endpoint, ..pin }
}

/// The second in which a row has ended, by its own expiry and by the age of its session.
fn ends(pin: &SessionPin, lifetimes: Lifetimes) -> u32 {
    let end = pin.expires.min(pin.started.plus(lifetimes.max_age()));
    let whole = end == end.whole_secs();
    second(end).saturating_add((!whole).into()).min(LAST)
}

/// The second that is reached with `now`.
fn reach(now: Timestamp) -> u32 {
    second(now).min(LAST)
}
