//! Why the leaf could not serve a request.

use std::fmt;

use thiserror::Error;
use tower_affinity_core::GroupName;

/// The error of [`GroupBalance`](super::GroupBalance); `E` is that of the endpoint's service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error<E> {
    /// No endpoint served the request; the cause, also the `source()`, says why.
    Unserved(Unserved),
    /// The endpoint's service failed.
    Endpoint(E),
}

/// Why no endpoint served a request. It does not depend on the endpoint's error, so that it can be
/// found in the sources of any error.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unserved {
    /// The request did not go through an [`AssignLayer`](crate::AssignLayer).
    #[error("nothing has decided which group serves the request")]
    NoDecision,
    /// The group has no ready endpoint here.
    #[error("no endpoint of group {0} is ready")]
    NoReadyEndpoint(GroupName),
    /// The group has as many requests in flight as it may.
    #[error("group {0} is at its limit of requests in flight")]
    Capacity(GroupName),
    /// The endpoint says that it serves another group than this one.
    #[error("an endpoint of group {0} serves another group")]
    WrongGroup(GroupName),
}

impl<E> From<Unserved> for Error<E> {
    fn from(unserved: Unserved) -> Self {
        Self::Unserved(unserved)
    }
}

impl<E> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unserved(_) => "no endpoint served the request",
            Self::Endpoint(_) => "the endpoint failed",
        })
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Unserved(unserved) => unserved,
            Self::Endpoint(error) => error,
        })
    }
}
