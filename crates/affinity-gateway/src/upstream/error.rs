//! Why there is no answer from the endpoint.

use std::error::Error;

use rustix::io::Errno;
use tower_affinity::respond::UpstreamFault;

use crate::causes::with_causes;

/// An exchange with an endpoint that brought no answer.
///
/// No message of it names an address. Its source is the [`UpstreamFault`], from which the answer
/// to the client is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the exchange with the endpoint failed")]
pub struct UpstreamError {
    #[source]
    fault: UpstreamFault,
    short: bool,
}

impl UpstreamError {
    pub(super) fn new(fault: UpstreamFault) -> Self {
        Self {
            fault,
            short: false,
        }
    }

    pub(super) fn caused(
        fault: UpstreamFault,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let cause: Box<dyn Error + Send + Sync> = cause.into();
        tracing::debug!(?fault, cause = %with_causes(&*cause), "endpoint failed");
        Self {
            fault,
            short: is_short(&*cause),
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn fault(&self) -> UpstreamFault {
        self.fault
    }

    /// Whether it is certain that the endpoint saw nothing of the request, so that sending it
    /// again is harmless for every method.
    #[must_use]
    pub fn unsent(&self) -> bool {
        matches!(self.fault, UpstreamFault::Connect | UpstreamFault::Unsent)
    }

    /// Whether it was we who ran short of what a connection takes, so that it says nothing of the
    /// endpoint.
    pub(crate) fn ran_short(&self) -> bool {
        self.short
    }
}

impl From<hyper::Error> for UpstreamError {
    fn from(error: hyper::Error) -> Self {
        Self::caused(fault_of(&error), error)
    }
}

/// What it says that no connection was opened: nothing of the endpoint, if it was we who ran short.
pub(super) fn unopened(error: &(dyn Error + 'static)) -> UpstreamFault {
    if is_short(error) {
        UpstreamFault::Unsent
    } else {
        UpstreamFault::Connect
    }
}

/// Whether this process, or its machine, has no descriptor or memory left for a connection.
fn is_short(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let errno = error.downcast_ref().and_then(Errno::from_io_error);
        if let Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) = errno {
            return true;
        }
        next = error.source();
    }
    false
}

fn fault_of(error: &hyper::Error) -> UpstreamFault {
    let http2 = error.source().and_then(|source| source.downcast_ref());
    if let Some(fault) = http2.and_then(http2_fault) {
        fault
    } else if error.is_parse() {
        UpstreamFault::Protocol
    } else if error.is_user() {
        // Of the things hyper blames on its user, only the body is not of our making.
        UpstreamFault::RequestBody
    } else {
        UpstreamFault::Closed
    }
}

/// What HTTP/2 itself says about a stream that failed.
fn http2_fault(error: &h2::Error) -> Option<UpstreamFault> {
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    if error.is_remote() && (error.is_go_away() || refused) {
        // only streams that the peer will not look at end by its GOAWAY
        return Some(UpstreamFault::Unsent);
    }
    (error.is_library() || error.reason() == Some(h2::Reason::PROTOCOL_ERROR))
        .then_some(UpstreamFault::Protocol)
}
