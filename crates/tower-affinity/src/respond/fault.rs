//! What can go wrong with an endpoint, for leaves to say.

use thiserror::Error;

/// What went wrong with an endpoint. A leaf gives it as its error, or as a source of it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UpstreamFault {
    /// It did not answer in time.
    #[error("the endpoint did not answer in time")]
    Timeout,
    /// It could not be reached, also not in time.
    #[error("the endpoint could not be reached")]
    Connect,
    /// It was reached and has seen nothing of the request, as when it refuses a stream.
    #[error("the endpoint did not take the request")]
    Unsent,
    /// It broke off before an answer.
    #[error("the endpoint closed the connection before it answered")]
    Closed,
    /// What it answered is not valid, or ambiguous.
    #[error("the endpoint's answer is not valid")]
    Protocol,
    /// It lives and does not serve what was asked for, such as a WebSocket on a page without one.
    /// Any client can ask for that, so it says nothing of the endpoint.
    #[error("the endpoint does not serve what was asked for")]
    Declined,
    /// The request's own body failed: its sender went away or broke its framing.
    #[error("the request's body ended early")]
    RequestBody,
}
