//! [`Shutdown`]: how a listener is told to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

/// Tells a listener to end, and whether its socket lives on in another process.
///
/// A clone is another handle to the same end.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    begun: CancellationToken,
    handed: Arc<AtomicBool>,
}

impl Shutdown {
    /// No end yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the listener in good order.
    pub fn begin(&self) {
        self.begun.cancel();
    }

    /// As [`begin`](Self::begin), for a socket that another process accepts from by now: what
    /// waits in its queue is left to that one, and clients need not be warned.
    pub fn hand_over(&self) {
        self.handed.store(true, Ordering::Release);
        self.begun.cancel();
    }

    /// Whether the end has begun.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.begun.is_cancelled()
    }

    /// The token of the beginning.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.begun
    }

    pub(crate) fn is_handed_over(&self) -> bool {
        self.handed.load(Ordering::Acquire)
    }
}

/// The end begins with the token.
impl From<CancellationToken> for Shutdown {
    fn from(begun: CancellationToken) -> Self {
        Self {
            begun,
            handed: Arc::default(),
        }
    }
}
