//! What ends connections from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{Notify, futures::Notified};

/// The word of a listener to its connections. A clone is another handle.
///
/// Each connection looks at it with every step it takes, so that a look costs one read.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    word: AtomicU8,
    changed: Notify,
}

/// What connections are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Go on.
    Serve,
    /// Finish what runs, begin nothing.
    Finish,
    /// Stop now.
    Cut,
}

impl Ending {
    /// From now on connections finish what runs and begin nothing.
    pub(super) fn finish(&self) {
        self.say(FINISH);
    }

    /// All connections stop now.
    pub(super) fn cut(&self) {
        self.say(CUT);
    }

    /// What counts now.
    pub(super) fn word(&self) -> Word {
        match self.0.word.load(Ordering::Acquire) {
            CUT => Word::Cut,
            FINISH => Word::Finish,
            _ => Word::Serve,
        }
    }

    /// Ends when another word is said, once it has been polled; a word from before that is to be
    /// looked at.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// Waits for the word to stop.
    pub(super) async fn is_cut(&self) {
        loop {
            // before the look: what is said after it wakes this one
            let changed = self.changed();
            if self.word() == Word::Cut {
                return;
            }
            changed.await;
        }
    }

    fn say(&self, word: u8) {
        self.0.word.fetch_max(word, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}

const FINISH: u8 = 1;
const CUT: u8 = 2;
