//! How many streams of events are open at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::StreamSeries;

/// A page holds one; each costs little, and all together must not take the connections of those
/// who change something.
const AT_ONCE: usize = 32;

/// The places of streams. Clones share them.
#[derive(Clone)]
pub(crate) struct Streams {
    places: Arc<Semaphore>,
    series: StreamSeries,
}

/// The place of one stream, until it is dropped.
pub(super) struct Place {
    series: StreamSeries,
    _permit: OwnedSemaphorePermit,
}

impl Streams {
    pub(crate) fn new(series: StreamSeries) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Self { places, series }
    }

    /// A place, if one is free.
    pub(super) fn place(&self) -> Option<Place> {
        let series = self.series.clone();
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => {
                series.opened();
                Some(Place {
                    series,
                    _permit: permit,
                })
            }
            Err(_) => {
                series.refused();
                None
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.series.closed();
    }
}
