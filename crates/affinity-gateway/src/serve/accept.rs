//! Accepting, also when the system refuses.

use std::{io, net::SocketAddr, time::Duration};

use tokio::net::{TcpListener, TcpStream};

/// Accepts connections and survives the errors of doing so.
#[derive(Debug)]
pub(super) struct Accept {
    listener: TcpListener,
    pause: Duration,
}

impl Accept {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            pause: Duration::ZERO,
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
                    self.pause = Duration::ZERO;
                    return accepted;
                }
                Err(error) if concerns_one_connection(&error) => {}
                Err(error) => {
                    if self.pause.is_zero() {
                        tracing::warn!(%error, "cannot accept connections, trying again");
                    }
                    self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                    tokio::time::sleep(self.pause).await;
                }
            }
        }
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

const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Descriptors come back as requests end, so a second is long enough to be no load and short
/// enough to go unnoticed by a client that retries.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
