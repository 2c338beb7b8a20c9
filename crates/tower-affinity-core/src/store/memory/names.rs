//! The names that the rows of a shard refer to, each kept once and for as long as a row does.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::chunked::{Chunked, Number};
use super::count::{Counted, Counts};
use crate::{EndpointId, GroupId};

/// A group, or an endpoint of one.
pub(super) type Place<'a> = (&'a GroupId, Option<&'a EndpointId>);

/// Why a row refers to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Its session lives there, and is counted.
    Lives,
    /// Its session has left it last.
    Left,
}

#[derive(Debug)]
pub(super) struct Names {
    entries: Chunked<Option<Entry>>,
    spare: Vec<Number>,
    by_name: HashTable<Number>,
    hasher: RandomState,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct Entry {
    group: GroupId,
    endpoint: Option<EndpointId>,
    users: u32,
    counted: Counted,
}

impl Names {
    pub(super) fn new(counts: Arc<Counts>) -> Self {
        Self {
            entries: Chunked::new(),
            spare: Vec::new(),
            by_name: HashTable::new(),
            hasher: RandomState::new(),
            counts,
        }
    }

    /// The place that a row refers to.
    pub(super) fn of(&self, number: Number) -> Option<Place<'_>> {
        self.entries.get(number).as_ref().map(Entry::place)
    }

    /// A row that refers to `old` refers to `place` from now on. Answers its number.
    pub(super) fn exchange(
        &mut self,
        old: Option<Number>,
        place: Option<Place<'_>>,
        reason: Reason,
    ) -> Option<Number> {
        if old.and_then(|old| self.of(old)) == place {
            return old;
        }
        let new = place.map(|place| self.refer(place));
        // first the new place: a session that moves is never nowhere
        for (number, lives) in new
            .map(|new| (new, true))
            .into_iter()
            .chain(old.map(|old| (old, false)))
        {
            if reason == Reason::Lives
                && let Some(entry) = self.entries.get(number)
            {
                entry.counted.change(lives);
            }
        }
        if let Some(old) = old {
            self.leave(old);
        }
        new
    }

    fn refer(&mut self, place: Place<'_>) -> Number {
        let hash = self.hasher.hash_one(place);
        let entries = &mut self.entries;
        let is_same = |number: &Number| {
            let entry = entries.get(*number).as_ref();
            entry.is_some_and(|entry| entry.place() == place)
        };
        if let Some(number) = self.by_name.find(hash, is_same).copied() {
            if let Some(entry) = entries.get_mut(number) {
                entry.users += 1;
            }
            return number;
        }
        let (group, endpoint) = place;
        let entry = Some(Entry {
            group: group.clone(),
            endpoint: endpoint.cloned(),
            users: 1,
            counted: self.counts.enter(group, endpoint),
        });
        let number = match self.spare.pop() {
            Some(number) => {
                *entries.get_mut(number) = entry;
                number
            }
            None => entries.push(entry),
        };
        let hash_of = |number: &Number| {
            let entry = entries.get(*number).as_ref();
            entry.map_or(0, |entry| self.hasher.hash_one(entry.place()))
        };
        self.by_name.insert_unique(hash, number, hash_of);
        number
    }

    fn leave(&mut self, number: Number) {
        let place = self.entries.get_mut(number);
        let Some(entry) = place else { return };
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        let hash = self.hasher.hash_one(entry.place());
        if let Some(entry) = place.take() {
            self.counts
                .leave(&entry.group, entry.endpoint.as_ref(), entry.counted);
        }
        if let Ok(found) = self.by_name.find_entry(hash, |other| *other == number) {
            found.remove();
        }
        self.spare.push(number);
    }
}

impl Entry {
    fn place(&self) -> Place<'_> {
        (&self.group, self.endpoint.as_ref())
    }
}
