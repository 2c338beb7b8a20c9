//! The streams of HTTP/2, none of which waits for ever for its client.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};

use super::ended::{ConnectionEvent, ConnectionRecorder};

/// Runs streams as tasks, and ends one whose client opens no window for what is to be sent: the
/// stream is reset, the exchange with the endpoint given up.
///
/// hyper does not ask the body for more before the last piece has gone, so only a timer beside it
/// can tell.
#[derive(Clone)]
pub(super) struct Streams {
    patience: Duration,
    recorder: Arc<dyn ConnectionRecorder>,
}

/// What the body of an answer tells of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Handed {
    /// Whether the next move is the client's.
    out: bool,
    /// How many pieces went out.
    pieces: u32,
}

tokio::task_local! {
    static HANDED: Cell<Handed>;
}

/// A piece of an answer was given to be sent. Without an effect on HTTP/1.1.
pub(super) fn hand_out() {
    tell(|handed| Handed {
        out: true,
        pieces: handed.pieces.wrapping_add(1),
    });
}

/// The answer waits for its endpoint.
pub(super) fn wait() {
    tell(|handed| Handed {
        out: false,
        ..handed
    });
}

fn tell(change: impl FnOnce(Handed) -> Handed) {
    // HTTP/1.1 has no task of this kind, and a timer at its socket
    let _ = HANDED.try_with(|handed| handed.set(change(handed.get())));
}

impl Streams {
    pub(super) fn new(patience: Duration, recorder: Arc<dyn ConnectionRecorder>) -> Self {
        Self { patience, recorder }
    }
}

impl<F: Future + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        tokio::spawn(Watched {
            stream,
            handed: Handed::default(),
            timer: None,
            streams: self.clone(),
        });
    }
}

pin_project! {
    struct Watched<F> {
        #[pin]
        stream: F,
        handed: Handed,
        // made at the first wait: most answers have none
        timer: Option<Pin<Box<Sleep>>>,
        streams: Streams,
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let (polled, handed) = HANDED.sync_scope(Cell::new(*this.handed), || {
            (this.stream.poll(cx).is_ready(), HANDED.with(Cell::get))
        });
        if polled {
            return Poll::Ready(());
        }
        let before = std::mem::replace(this.handed, handed);
        if !handed.out {
            return Poll::Pending;
        }
        let patience = this.streams.patience;
        let timer = this
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if before != handed {
            timer.as_mut().reset(Instant::now() + patience);
        }
        timer.as_mut().poll(cx).map(|()| {
            tracing::debug!("an answer was given up: its client takes nothing");
            this.streams.recorder.record(ConnectionEvent::StreamStalled);
        })
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams")
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}
