//! [`Local`]: the place of one session.

use std::fmt;
use std::sync::Arc;

use tower_affinity_core::SessionId;

use super::cell::Cell;
use super::room::Room;
use super::shard::Stay;
use crate::signal::Signal;

/// The place of one session's value in [`LocalSessions`](super::LocalSessions); with the feature `axum` an extractor.
///
/// As an extractor it needs a state that holds the `LocalSessions` (`FromRef`). A request without a
/// session has no place: it is answered 400, or a handler takes `Option<Local<T>>`.
///
/// Every call but a removal is use: the idle timeout begins again. So a handler whose answer streams
/// for longer than that calls [`Local::get`] now and then.
pub struct Local<T> {
    room: Arc<Room<T>>,
    stay: Stay,
    /// Which one of the requests that a gateway has told of; 0 for any other.
    nth: u64,
}

impl<T> Local<T> {
    pub(super) fn new(room: Arc<Room<T>>, stay: Stay, nth: u64) -> Self {
        Self { room, stay, nth }
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.stay.session
    }

    /// The value as it is now. Who holds it keeps it, whatever becomes of the place.
    #[must_use]
    pub fn get(&self) -> Option<Arc<T>> {
        self.room.touch(self.stay).map(|cell| cell.value())
    }

    /// Puts `value` there, in the place of another if there is one.
    pub fn insert(&self, value: T) {
        let cell = Arc::new(Cell::new(Arc::new(value)));
        self.room.put(self.stay, self.nth, cell);
    }

    /// The value as it is now, or else the one that `make` makes. Of parallel requests that each
    /// make one, the first to put it there counts, and all get that.
    pub fn get_or_insert_with(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(value) = self.get() {
            return value;
        }
        let cell = Arc::new(Cell::new(Arc::new(make())));
        self.room.put_first(self.stay, self.nth, cell).value()
    }

    /// Changes the value, and gives back what `change` does; `None` if there is no value.
    ///
    /// Updates of a session come one after the other, and none is lost. `change` works on a copy,
    /// which is seen once it is done. If the value ends, or another one is put in its place, in the
    /// meantime, that is as if it had happened right after.
    ///
    /// `change` blocks other updates of the session, so it must not update the same place itself.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R>
    where
        T: Clone,
    {
        let cell = self.room.touch(self.stay)?;
        Some(cell.update(change))
    }

    /// Empties the place, and gives back the value that was there.
    #[expect(clippy::must_use_candidate, reason = "mostly it is to go")]
    pub fn remove(&self) -> Option<Arc<T>> {
        self.room.remove(self.stay).map(|cell| cell.value())
    }

    /// Empties the place at the end of the whole flow: the word goes onto the answer, as
    /// `Extension(local.end())`, and clears the pin too.
    ///
    /// A client that never gets this answer may come again with its pin, and finds no value.
    #[must_use = "the session ends if this goes onto the answer"]
    pub fn end(self) -> Signal {
        self.remove();
        Signal::End
    }
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.room), self.stay, self.nth)
    }
}

impl<T> fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("session", &self.stay.session)
            .finish_non_exhaustive()
    }
}
