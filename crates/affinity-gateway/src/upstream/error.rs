//! Why there is no answer from the endpoint.

use std::error::Error;

use hyper_util::client::legacy;
use tower_affinity::Problem;

/// An exchange with an endpoint that brought no answer.
///
/// The message names no address; the cause, for logs, is the `source`.
#[derive(Debug, thiserror::Error)]
#[error("{}", .kind.as_str())]
pub struct UpstreamError {
    kind: UpstreamErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The ways in which an exchange fails.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum UpstreamErrorKind {
    /// No connection: refused, unreachable, or not within the connect timeout. Nothing of the
    /// request was sent.
    Connect,
    /// No head of an answer within the response timeout.
    Timeout,
    /// The connection ended before the head of an answer.
    Closed,
    /// The endpoint answered something that is not HTTP, or is ambiguous, or switched protocols
    /// unasked.
    Protocol,
    /// The request's own body failed: its sender went away or broke its framing.
    Body,
}

impl UpstreamError {
    pub(super) fn new(kind: UpstreamErrorKind) -> Self {
        Self { kind, source: None }
    }

    pub(super) fn caused(
        kind: UpstreamErrorKind,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            kind,
            source: Some(source.into()),
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> UpstreamErrorKind {
        self.kind
    }

    /// What the client is told.
    #[must_use]
    pub fn problem(&self) -> Problem {
        match self.kind {
            UpstreamErrorKind::Timeout => Problem::UpstreamTimeout,
            UpstreamErrorKind::Body => Problem::BadRequest,
            UpstreamErrorKind::Connect
            | UpstreamErrorKind::Closed
            | UpstreamErrorKind::Protocol => Problem::UpstreamError,
        }
    }

    /// Whether it is certain that the endpoint saw nothing of the request, so that sending it
    /// again is harmless for every method.
    #[must_use]
    pub fn unsent(&self) -> bool {
        self.kind == UpstreamErrorKind::Connect
    }
}

impl UpstreamErrorKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "no connection to the endpoint",
            Self::Timeout => "the endpoint did not answer in time",
            Self::Closed => "the endpoint closed the connection without an answer",
            Self::Protocol => "the endpoint's answer is not valid",
            Self::Body => "the request's body ended early",
        }
    }
}

impl From<legacy::Error> for UpstreamError {
    fn from(error: legacy::Error) -> Self {
        let kind = if error.is_connect() {
            UpstreamErrorKind::Connect
        } else {
            error
                .source()
                .and_then(|source| source.downcast_ref::<hyper::Error>())
                .map_or(UpstreamErrorKind::Closed, kind_of)
        };
        Self::caused(kind, error)
    }
}

fn kind_of(error: &hyper::Error) -> UpstreamErrorKind {
    if error.is_parse() {
        UpstreamErrorKind::Protocol
    } else if error.is_user() {
        // Of the things hyper blames on its user, only the body is not of our making.
        UpstreamErrorKind::Body
    } else {
        UpstreamErrorKind::Closed
    }
}
