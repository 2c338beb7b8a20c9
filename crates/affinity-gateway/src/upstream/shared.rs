//! One HTTP/2 connection that many exchanges share.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use http_body::Body;
use hyper::client::conn::http2::SendRequest;
use tokio::sync::{Notify, watch};

/// The way into a connection.
pub(super) struct Connection<B> {
    sender: SendRequest<B>,
    word: Arc<Word>,
}

/// What is known of a connection: what its peer last said, and how many exchanges it has.
#[derive(Debug)]
pub(super) struct Word {
    exchanges: AtomicUsize,
    max: AtomicUsize,
    takes_connect: watch::Sender<bool>,
    asked: Notify,
    answered: AtomicBool,
}

/// One exchange's place on its connection; it lasts until the answer's body or tunnel has ended.
pub(super) struct Place(Arc<Word>);

impl<B: Body + 'static> Connection<B> {
    pub(super) fn new(sender: SendRequest<B>, word: Arc<Word>) -> Self {
        Self { sender, word }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether the peer takes one more. Beyond its limit a request would wait for others to end,
    /// and streams may never end.
    pub(super) fn has_room(&self) -> bool {
        let max = self.word.max.load(Ordering::Relaxed).clamp(1, MOST);
        self.word.exchanges.load(Ordering::Relaxed) < max
    }

    pub(super) fn place(&self) -> (SendRequest<B>, Place) {
        self.word.exchanges.fetch_add(1, Ordering::Relaxed);
        (self.sender.clone(), Place(Arc::clone(&self.word)))
    }

    pub(super) fn is(&self, word: &Arc<Word>) -> bool {
        Arc::ptr_eq(&self.word, word)
    }
}

impl Word {
    /// The peer's settings, as they are now.
    pub(super) fn hear(&self, max: usize, takes_connect: bool) {
        self.max.store(max, Ordering::Relaxed);
        self.takes_connect.send_if_modified(|known| {
            let news = *known != takes_connect;
            *known = takes_connect;
            news
        });
    }

    /// Ends when somebody wants to know what the peer says now. Its settings wake nobody.
    pub(super) async fn asked(&self) {
        self.asked.notified().await;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.exchanges.load(Ordering::Relaxed) == 0
    }
}

impl Default for Word {
    fn default() -> Self {
        Self {
            exchanges: AtomicUsize::new(0),
            max: AtomicUsize::new(MOST),
            takes_connect: watch::Sender::new(false),
            asked: Notify::new(),
            answered: AtomicBool::new(false),
        }
    }
}

impl Place {
    /// Whether the peer takes extended CONNECT. On a new connection its settings may still be on
    /// their way; they come before anything else.
    pub(super) async fn takes_connect(&self, patience: Duration) -> bool {
        let mut told = self.0.takes_connect.subscribe();
        let asking = async {
            let mut pause = ASK_AGAIN;
            loop {
                self.0.asked.notify_one();
                tokio::time::sleep(pause).await;
                // of many that wait in vain none is to keep a core busy
                pause *= 2;
            }
        };
        tokio::select! {
            told = told.wait_for(|takes| *takes) => told.is_ok(),
            () = asking => false,
            () = tokio::time::sleep(patience) => false,
        }
    }

    /// There was an answer: by the first one the peer has also told its settings.
    pub(super) fn answered(&self) {
        if !self.0.answered.swap(true, Ordering::Relaxed) {
            self.0.asked.notify_one();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.exchanges.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place")
    }
}

const ASK_AGAIN: Duration = Duration::from_millis(2);

/// The most exchanges on one connection whatever its peer takes: a lost packet holds them all up.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A client can have many that wait for an endpoint that never takes it.
    #[tokio::test(start_paused = true)]
    async fn who_waits_long_for_extended_connect_asks_seldom() {
        let word = Arc::new(Word::default());
        word.exchanges.store(1, Ordering::Relaxed);
        let place = Place(Arc::clone(&word));
        let asked = Cell::new(0);
        let counted = async {
            loop {
                word.asked().await;
                asked.set(asked.get() + 1);
            }
        };
        tokio::select! {
            takes = place.takes_connect(Duration::from_secs(10)) => assert!(!takes),
            () = counted => {}
        }
        assert!(
            (8..=16).contains(&asked.get()),
            "asked {} times",
            asked.get()
        );
    }
}
