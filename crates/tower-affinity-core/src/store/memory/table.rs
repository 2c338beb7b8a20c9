//! The rows of a shard: found by key, packed, and their names.

use std::collections::HashMap;
use std::sync::Arc;

use super::chunked::{Chunked, Number};
use super::count::Counts;
use super::hash::KeyHash;
use super::index::Index;
use super::names::{Names, Reason};
use super::packed::{Packed, is_whole};
use crate::{EndpointRef, RowKey, SessionId, SessionPin};

#[derive(Debug)]
pub(super) struct Table {
    index: Index,
    rows: Chunked<Packed>,
    spare: Vec<Number>,
    /// The pins that their rows do not say all of.
    whole: HashMap<Number, Box<SessionPin>>,
    names: Names,
    hash: KeyHash,
}

impl Table {
    pub(super) fn new(capacity: usize, counts: Arc<Counts>) -> Self {
        Self {
            index: Index::new(capacity),
            rows: Chunked::new(),
            spare: Vec::new(),
            whole: HashMap::new(),
            names: Names::new(counts),
            hash: KeyHash::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn find(&self, key: RowKey) -> Option<Number> {
        let key = Packed::bits(key);
        let is_same = |row| self.rows.get(row).key() == key;
        self.index.find(self.hash.of(key), is_same)
    }

    pub(super) fn session(&self, row: Number) -> SessionId {
        self.rows.get(row).session()
    }

    /// When a row has ended.
    pub(super) fn ends(&self, row: Number) -> u32 {
        self.rows.get(row).ends
    }

    pub(super) fn pin(&self, row: Number) -> Option<SessionPin> {
        if !self.whole.is_empty()
            && let Some(pin) = self.whole.get(&row)
        {
            return Some((**pin).clone());
        }
        self.rows.get(row).pin(&self.names)
    }

    /// A new row for a key that has none.
    pub(super) fn insert(&mut self, key: RowKey, pin: &SessionPin, ends: u32) -> Number {
        let packed = self.pack(None, None, key, pin, ends);
        let row = match self.spare.pop() {
            Some(row) => {
                *self.rows.get_mut(row) = packed;
                row
            }
            None => self.rows.push(packed),
        };
        self.index.insert(self.hash.of(Packed::bits(key)), row);
        self.keep_whole(row, pin);
        row
    }

    /// Another pin for the key of a row.
    pub(super) fn update(&mut self, row: Number, key: RowKey, pin: &SessionPin, ends: u32) {
        let Packed { place, from, .. } = *self.rows.get(row);
        *self.rows.get_mut(row) = self.pack(place, from, key, pin, ends);
        self.keep_whole(row, pin);
    }

    /// A row whose pin was [touched](SessionPin::touched): nothing else has changed.
    pub(super) fn touch(&mut self, row: Number, pin: &SessionPin, ends: u32) {
        self.rows.get_mut(row).touch(pin, ends);
        self.keep_whole(row, pin);
    }

    pub(super) fn remove(&mut self, row: Number) {
        let packed = self.rows.get(row);
        let Packed { place, from, .. } = *packed;
        let hash = self.hash.of(packed.key());
        self.index.remove(hash, row);
        self.names.exchange(place, None, Reason::Lives);
        self.names.exchange(from, None, Reason::Left);
        self.whole.remove(&row);
        self.spare.push(row);
    }

    fn pack(
        &mut self,
        place: Option<Number>,
        from: Option<Number>,
        key: RowKey,
        pin: &SessionPin,
        ends: u32,
    ) -> Packed {
        let endpoint = pin.endpoint.as_ref().and_then(EndpointRef::known);
        let lives = pin.group.known().map(|group| (group, endpoint));
        let left = pin.last_move.as_ref().and_then(|last| last.from.known());
        let place = self.names.exchange(place, lives, Reason::Lives);
        let from = self
            .names
            .exchange(from, left.map(|group| (group, None)), Reason::Left);
        Packed::new(key, pin, place, from, ends)
    }

    fn keep_whole(&mut self, row: Number, pin: &SessionPin) {
        if is_whole(pin) {
            if !self.whole.is_empty() {
                self.whole.remove(&row);
            }
        } else {
            self.whole.insert(row, Box::new(pin.clone()));
        }
    }
}
