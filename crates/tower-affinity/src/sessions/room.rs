//! The values of all sessions, under several locks and one bound.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tower_affinity_core::{Clock, Timestamp};

use super::builder::LocalSessionsBuilder;
use super::cell::Cell;
use super::shard::{Due, Entry, Shard, Shown, Stay};
use crate::record::{LocalEnd, Recorder};

pub(super) struct Room<T> {
    idle: Duration,
    capacity: usize,
    clock: Arc<dyn Clock>,
    recorder: Recorder,
    shards: [Mutex<Shard<T>>; SHARDS],
    /// How many values there are, those included that have ended and were not swept.
    held: AtomicUsize,
    /// How many calls there were.
    calls: AtomicU64,
    /// How many had to go for want of room.
    crowded: AtomicU64,
}

impl<T> Room<T> {
    pub(super) fn new(built: &LocalSessionsBuilder<T>, clock: Arc<dyn Clock>) -> Self {
        Self {
            idle: built.idle,
            capacity: built.capacity,
            clock,
            recorder: built.recorder.clone(),
            shards: Default::default(),
            held: AtomicUsize::new(0),
            calls: AtomicU64::new(0),
            crowded: AtomicU64::new(0),
        }
    }

    pub(super) fn idle(&self) -> Duration {
        self.idle
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub(super) fn sweep(&self) -> usize {
        let now = self.clock.now();
        let shards = self.shards.iter();
        let swept = shards.map(|shard| {
            let mut over = Vec::new();
            self.take_over(&mut lock(shard), now, SWEPT / SHARDS, &mut over);
            self.ended(LocalEnd::Idle, over.len());
            over.len()
        });
        swept.sum()
    }

    pub(super) fn touch(&self, stay: Stay) -> Option<Arc<Cell<T>>> {
        self.visit(stay, |shard, now, due| shard.touch(stay, now, due))
    }

    pub(super) fn put(&self, stay: Stay, nth: u64, cell: Arc<Cell<T>>) {
        let shown = Shown::new(&self.recorder);
        let former = self.visit(stay, |shard, _, due| {
            self.put_in(shard, stay, Entry::new(cell, nth, due, shown))
        });
        self.replaced(former);
        self.make_room();
    }

    /// The value that is there, or else `cell`'s from now on.
    pub(super) fn put_first(&self, stay: Stay, nth: u64, cell: Arc<Cell<T>>) -> Arc<Cell<T>> {
        let shown = Shown::new(&self.recorder);
        let (first, ours, former) = self.visit(stay, |shard, now, due| {
            let entry = Entry::new(cell, nth, due, shown);
            match shard.touch(stay, now, due) {
                Some(first) => (first, Some(entry), None),
                None => {
                    let first = Arc::clone(&entry.cell);
                    (first, None, self.put_in(shard, stay, entry))
                }
            }
        });
        drop(ours);
        self.replaced(former);
        self.make_room();
        first
    }

    pub(super) fn remove(&self, stay: Stay) -> Option<Arc<Cell<T>>> {
        self.take(stay, |_| true)
    }

    /// Empties the place of what requests before the `nth` have put there: that is of a former stay.
    pub(super) fn leave(&self, stay: Stay, nth: u64) {
        self.take(stay, |entry| entry.nth < nth);
    }

    fn take(&self, stay: Stay, goes: impl FnOnce(&Entry<T>) -> bool) -> Option<Arc<Cell<T>>> {
        let (entry, now) = self.visit(stay, |shard, now, _| {
            let entry = shard.take_if(stay, goes)?;
            self.held.fetch_sub(1, Ordering::Relaxed);
            Some((entry, now))
        })?;
        if entry.is_over(now) {
            self.ended(LocalEnd::Idle, 1);
            return None;
        }
        self.ended(LocalEnd::Removed, 1);
        Some(Arc::clone(&entry.cell))
    }

    /// Does something with the shard of `stay`, and sweeps a little there and elsewhere: so what
    /// has ended goes faster than new values can come, also where nobody asks for it.
    fn visit<R>(&self, stay: Stay, act: impl FnOnce(&mut Shard<T>, Timestamp, Due) -> R) -> R {
        let now = self.clock.now();
        let nth = self.calls.fetch_add(1, Ordering::Relaxed);
        let due = Due {
            at: now.plus(self.idle),
            nth,
        };
        let mut over = Vec::new();
        if let Some(Ok(mut other)) = self.shards.get(index(nth.into())).map(Mutex::try_lock) {
            self.take_over(&mut other, now, SWEPT_PER_CALL, &mut over);
        }
        let mut shard = self.shard(stay);
        self.take_over(&mut shard, now, SWEPT_PER_CALL, &mut over);
        let result = act(&mut shard, now, due);
        drop(shard);
        self.ended(LocalEnd::Idle, over.len());
        result
    }

    fn put_in(&self, shard: &mut Shard<T>, stay: Stay, entry: Entry<T>) -> Option<Entry<T>> {
        let former = shard.put(stay, entry);
        if former.is_none() {
            self.held.fetch_add(1, Ordering::Relaxed);
        }
        former
    }

    /// Another value is in the place of this one, which may have ended before that.
    fn replaced(&self, former: Option<Entry<T>>) {
        if former.is_some_and(|former| former.is_over(self.clock.now())) {
            self.ended(LocalEnd::Idle, 1);
        }
    }

    /// Takes out up to `most` that have ended. The lock is held, so that nobody counts them as room
    /// that is taken.
    fn take_over(
        &self,
        shard: &mut Shard<T>,
        now: Timestamp,
        most: usize,
        over: &mut Vec<Entry<T>>,
    ) {
        let before = over.len();
        shard.take_over(now, most, over);
        let taken = over.len() - before;
        self.held.fetch_sub(taken, Ordering::Relaxed);
    }

    /// Lets go of the values nearest their end until there are no more than there may be. Each round
    /// takes one, and no call leaves more than it has found.
    fn make_room(&self) {
        while self.held() > self.capacity {
            let firsts = self.shards.iter();
            let firsts = firsts.filter_map(|shard| Some((lock(shard).first()?, shard)));
            let Some((_, shard)) = firsts.min_by_key(|(due, _)| *due) else {
                return;
            };
            let taken = {
                let mut shard = lock(shard);
                // somebody else may have made room meanwhile
                if self.held() <= self.capacity {
                    return;
                }
                let taken = shard.take_first();
                let count = usize::from(taken.is_some());
                self.held.fetch_sub(count, Ordering::Relaxed);
                taken
            };
            match taken {
                Some(entry) if entry.is_over(self.clock.now()) => self.ended(LocalEnd::Idle, 1),
                Some(_) => self.crowded_out(),
                None => {}
            }
        }
    }

    fn crowded_out(&self) {
        self.ended(LocalEnd::Capacity, 1);
        let crowded = self.crowded.fetch_add(1, Ordering::Relaxed) + 1;
        if crowded.is_power_of_two() {
            let capacity = self.capacity;
            tracing::warn!(
                crowded,
                capacity,
                "no room: sessions lost their local value"
            );
        }
    }

    fn ended(&self, end: LocalEnd, count: usize) {
        if count > 0 {
            self.recorder.local_ended(end, count as u64);
        }
    }

    fn shard(&self, stay: Stay) -> MutexGuard<'_, Shard<T>> {
        let [first, ..] = &self.shards;
        let own = self.shards.get(index(stay.session.bits()));
        lock(own.unwrap_or(first))
    }
}

/// Ids are random, so their last bits spread them evenly.
fn index(bits: u128) -> usize {
    (bits % SHARDS as u128) as usize
}

/// No code of the application runs under this lock, and nothing is left half done.
fn lock<T>(shard: &Mutex<Shard<T>>) -> MutexGuard<'_, Shard<T>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks, so that requests of different sessions seldom meet.
const SHARDS: usize = 16;

/// Of its own shard and of another: twice, so that a call drops more than it can add.
const SWEPT_PER_CALL: usize = 2;

/// So that a call by a timer holds up a thread only briefly, and each lock for 64 values.
const SWEPT: usize = 1_024;
