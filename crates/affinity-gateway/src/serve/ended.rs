//! How connections end, and who is told.

use std::error::Error;
use std::io;
use std::sync::Arc;

use super::framing::Fault;

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndCause {
    /// In good order, by whichever side.
    Closed,
    /// The client went away in the middle of a message.
    Aborted,
    /// Before HTTP: no PROXY header, or no TLS handshake.
    Transport,
    /// A head did not come in time, or an HTTP/1.1 connection was kept without a request.
    HeaderTimeout,
    /// The client took nothing of an answer for too long.
    WriteTimeout,
    /// A client on HTTP/2 did not answer a ping.
    PingTimeout,
    /// A client on HTTP/2 had no request for too long.
    Idle,
    /// The head of a request was too large.
    TooLarge,
    /// The bytes were no HTTP, or could be read in two ways.
    Malformed,
    /// More resets or other frames than HTTP/2 needs.
    Flood,
    /// By us: the time to end was over.
    Cut,
    /// A panic while it was served.
    Panic,
}

impl EndCause {
    /// All causes, for a closed label set.
    pub const ALL: [Self; 12] = [
        Self::Closed,
        Self::Aborted,
        Self::Transport,
        Self::HeaderTimeout,
        Self::WriteTimeout,
        Self::PingTimeout,
        Self::Idle,
        Self::TooLarge,
        Self::Malformed,
        Self::Flood,
        Self::Cut,
        Self::Panic,
    ];

    /// The word in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Aborted => "aborted",
            Self::Transport => "transport",
            Self::HeaderTimeout => "header_timeout",
            Self::WriteTimeout => "write_timeout",
            Self::PingTimeout => "ping_timeout",
            Self::Idle => "idle",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::Flood => "flood",
            Self::Cut => "cut",
            Self::Panic => "panic",
        }
    }
}

/// What happens to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// One was accepted.
    Opened,
    /// One ended.
    Ended(EndCause),
    /// An answer on HTTP/2 was given up: the client took nothing of it for too long.
    StreamStalled,
    /// There was no place for one more; it waits.
    Full,
    /// An endpoint gave an interim answer (1xx) to a request on HTTP/1.1.
    Interim {
        /// Whether it was passed on: not if there were too many, or the answer had begun.
        passed: bool,
    },
}

/// Is told what happens to connections; it should not block. Any `Fn(ConnectionEvent)` is one.
pub trait ConnectionRecorder: Send + Sync + 'static {
    /// It happened.
    fn record(&self, event: ConnectionEvent);
}

impl<F: Fn(ConnectionEvent) + Send + Sync + 'static> ConnectionRecorder for F {
    fn record(&self, event: ConnectionEvent) {
        self(event);
    }
}

/// Tells of one connection: that it was opened, and at its drop how it ended.
pub(super) struct Told {
    recorder: Arc<dyn ConnectionRecorder>,
    cause: EndCause,
}

impl Told {
    pub(super) fn opened(recorder: Arc<dyn ConnectionRecorder>) -> Self {
        recorder.record(ConnectionEvent::Opened);
        // what unwinds sets none
        let cause = EndCause::Panic;
        Self { recorder, cause }
    }

    pub(super) fn ended(mut self, cause: EndCause) {
        tracing::debug!(cause = cause.as_str(), "connection ended");
        self.cause = cause;
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.recorder.record(ConnectionEvent::Ended(self.cause));
    }
}

/// What a refused head means for its connection.
pub(super) fn refused(fault: Fault) -> EndCause {
    match fault {
        Fault::TooLarge => EndCause::TooLarge,
        _ => EndCause::Malformed,
    }
}

/// What hyper's error says of the connection.
pub(super) fn failed(error: &(dyn Error + 'static), multiplexed: bool) -> EndCause {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            if error.is_timeout() {
                return match multiplexed {
                    true => EndCause::PingTimeout,
                    false => EndCause::HeaderTimeout,
                };
            }
            if error.is_parse() {
                return EndCause::Malformed;
            }
        }
        if let Some(error) = error.downcast_ref::<h2::Error>()
            && let Some(cause) = protocol(error)
        {
            return cause;
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            match error.kind() {
                io::ErrorKind::TimedOut => return EndCause::HeaderTimeout,
                io::ErrorKind::InvalidData => return EndCause::Malformed,
                _ => {}
            }
        }
        next = error.source();
    }
    EndCause::Aborted
}

fn protocol(error: &h2::Error) -> Option<EndCause> {
    match error.reason()? {
        // what the client says of us
        _ if error.is_remote() => Some(EndCause::Aborted),
        h2::Reason::NO_ERROR => Some(EndCause::Closed),
        h2::Reason::ENHANCE_YOUR_CALM => Some(EndCause::Flood),
        _ => Some(EndCause::Malformed),
    }
}
