//! Reads on where nobody reads a request's body to its end, so that its client gets the answer.
//!
//! An answer can be there before its request's body has ended: a refusal of ours, or that of an
//! endpoint that wants no more. Whoever had the body drops it. Without more, HTTP/2 would then
//! reset the stream right behind the answer, and HTTP/1.1 close the connection on a client that
//! still sends; some clients lose the answer by that. So a bounded rest of the body is read and
//! dropped, by a task that holds nothing else of the request; the answer does not wait for it.
//!
//! ```text
//! body ──> DiscardBody ──> who forwards it
//!              └─ dropped before its end ──> task ──> its end: the connection is as good as before
//!                                              └────> no end in time: reset or closed
//! ```

mod body;
mod service;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::body::DiscardBody;
pub(crate) use self::service::{Discard, DiscardLayer};

/// How much of a body is read that nobody wants.
#[derive(Clone)]
pub(crate) struct DiscardLimits {
    /// The most bytes; what comes beyond it waits until the time is over.
    pub(crate) bytes: usize,
    /// How long it may take.
    pub(crate) time: Duration,
    /// Is told of each body that had not ended by then.
    pub(crate) told: Arc<dyn Fn() + Send + Sync>,
}

impl DiscardLimits {
    /// 256 KiB, and a second or the `patience` that there is with bodies if that is less.
    pub(crate) fn new(patience: Duration, told: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            bytes: BYTES,
            time: patience.min(TIME),
            told: Arc::new(told),
        }
    }
}

impl std::fmt::Debug for DiscardLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiscardLimits")
            .field("bytes", &self.bytes)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

/// Most bodies, and what a client on a fast line has under way before it has seen the answer.
const BYTES: usize = 256 * 1024;
/// Long enough for a client on another continent to see the answer and to end its body.
const TIME: Duration = Duration::from_secs(1);
