//! [`Requests`]: how many requests are in flight, over all groups.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Counts the requests in flight: a cheap handle, which outlives the layers that count with it, so
/// that a new configuration does not begin at zero.
#[derive(Clone)]
pub struct Requests(Arc<Shared>);

struct Shared {
    open: AtomicUsize,
    /// Whether it was logged that no place is free.
    told: AtomicBool,
    refused: Box<dyn Fn() + Send + Sync>,
}

/// The place of one request among those that are served at a time, until it is dropped.
#[derive(Debug)]
pub(super) struct Place(Requests);

impl Requests {
    /// None yet; `refused` is told of each request for which there is no place.
    pub fn new(refused: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared {
            open: AtomicUsize::new(0),
            told: AtomicBool::new(false),
            refused: Box::new(refused),
        }))
    }

    /// How many are in flight.
    #[must_use]
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::Relaxed)
    }

    /// A place, if fewer than `most` are taken.
    pub(super) fn place(&self, most: usize) -> Option<Place> {
        let before = self.0.open.fetch_add(1, Ordering::Relaxed);
        // given back when it is dropped, also if there was none to take
        let place = Place(self.clone());
        if before >= most {
            (self.0.refused)();
            if !self.0.told.swap(true, Ordering::Relaxed) {
                tracing::warn!(limit = most, "requests are refused until some have ended");
            }
            return None;
        }
        // told again only after there was some room: at the limit one comes for each that goes
        if before < most - most / 10 && self.0.told.load(Ordering::Relaxed) {
            self.0.told.store(false, Ordering::Relaxed);
        }
        Some(place)
    }
}

impl Default for Requests {
    fn default() -> Self {
        Self::new(|| {})
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requests").field(&self.open()).finish()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Self(Requests(shared)) = self;
        shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}
