//! Accepting, also when the system refuses.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::net::{TcpListener, TcpStream};

/// Accepts connections and survives the errors of doing so.
#[derive(Debug)]
pub(super) struct Accept {
    listener: Arc<TcpListener>,
    pauses: Pauses,
}

impl Accept {
    pub(super) fn new(listener: Arc<TcpListener>) -> Self {
        Self {
            listener,
            pauses: Pauses::default(),
        }
    }

    /// The next connection. Errors are waited out: the one that says that no descriptor is left
    /// comes back at once for as long as it holds, so the wait grows while they repeat.
    ///
    /// Cancel safe: no accepted connection is lost.
    pub(super) async fn next(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => {
                    self.pauses.end();
                    return accepted;
                }
                Err(error) if concerns_one_connection(&error) => {}
                Err(error) => {
                    if self.pauses.is_first() {
                        tracing::warn!(%error, "cannot accept connections, trying again");
                    }
                    tokio::time::sleep(self.pauses.next()).await;
                }
            }
        }
    }
}

impl Accept {
    /// The next connection that waits in the system's queue; `None` if there is none, or it cannot
    /// be accepted.
    pub(super) fn queued(&mut self) -> Option<(TcpStream, SocketAddr)> {
        // nobody is to be woken: who asks goes on with what there is
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..GONE_IN_A_ROW {
            match self.listener.poll_accept(&mut cx) {
                Poll::Ready(Ok(accepted)) => return Some(accepted),
                Poll::Ready(Err(error)) if concerns_one_connection(&error) => {}
                Poll::Ready(Err(error)) => {
                    tracing::warn!(%error, "cannot accept the connections that wait");
                    return None;
                }
                Poll::Pending => return None,
            }
        }
        None
    }
}

/// How long to wait between failures: twice as long each time, up to a second.
#[derive(Debug, Default)]
struct Pauses {
    last: Duration,
}

impl Pauses {
    fn is_first(&self) -> bool {
        self.last.is_zero()
    }

    fn next(&mut self) -> Duration {
        self.last = (self.last * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.last
    }

    fn end(&mut self) {
        self.last = Duration::ZERO;
    }
}

/// The peer was gone before we took its connection.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

/// More than wait in any queue of ours.
const GONE_IN_A_ROW: usize = 4096;

const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Descriptors come back as requests end, so a second is long enough to be no load and short
/// enough to go unnoticed by a client that retries.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_are_told_once_and_waited_out_longer() {
        let mut pauses = Pauses::default();
        let mut told = 0;
        let mut waited = Duration::ZERO;
        for _ in 0..10 {
            told += usize::from(pauses.is_first());
            let pause = pauses.next();
            assert!(pause >= waited.min(LONGEST_PAUSE), "shorter than before");
            waited = pause;
        }
        assert_eq!((told, waited), (1, LONGEST_PAUSE));
        pauses.end();
        assert!(pauses.is_first(), "the next failure is told again");
        assert_eq!(pauses.next(), FIRST_PAUSE);
    }

    #[test]
    fn a_peer_that_left_is_no_reason_to_wait() {
        for kind in [
            io::ErrorKind::ConnectionAborted,
            io::ErrorKind::ConnectionReset,
        ] {
            assert!(concerns_one_connection(&kind.into()), "{kind}");
        }
        // EMFILE.
        assert!(!concerns_one_connection(&io::Error::from_raw_os_error(24)));
    }
}
