//! The one waker of a connection, whoever drives it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
};

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

/// Wakes the exchange that drives a connection, or the watch over unused ones.
///
/// A connection registers the same waker with its socket and its timer for all its life, so
/// nothing has to be registered anew when it changes hands.
#[derive(Debug)]
pub(super) struct Relay {
    woken: AtomicBool,
    unused: AtomicBool,
    driver: AtomicWaker,
    watch: Arc<Notify>,
}

impl Relay {
    pub(super) fn new(watch: Arc<Notify>) -> Self {
        Self {
            woken: AtomicBool::new(false),
            unused: AtomicBool::new(false),
            driver: AtomicWaker::new(),
            watch,
        }
    }

    /// Who looks after what there is to do forgets that it was told so, before it looks.
    pub(super) fn begin(&self) {
        self.woken.store(false, Ordering::Relaxed);
    }

    /// Wakes `driver` from now on, and at once if something has come up since [`begin`](Self::begin).
    ///
    /// What the driver itself has caused in between and dealt with wakes nobody: a driver that was
    /// registered all the time would be called once more for each piece that it takes.
    pub(super) fn wait(&self, driver: &Waker) {
        self.driver.register(driver);
        if self.is_woken() {
            driver.wake_by_ref();
        }
    }

    pub(super) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    /// Nobody drives the connection: the watch is woken.
    pub(super) fn rest(&self) {
        self.begin();
        self.unused.store(true, Ordering::Release);
    }

    /// Somebody drives it again.
    pub(super) fn resume(&self) {
        self.unused.store(false, Ordering::Release);
    }
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        if self.unused.load(Ordering::Acquire) {
            self.watch.notify_one();
        } else {
            self.driver.wake();
        }
    }
}
