//! Why the leaf could not serve a request.

use std::fmt;

use thiserror::Error;
use tower_affinity_core::GroupName;

use crate::BoxError;

/// The error of [`GroupBalance`](super::GroupBalance).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No endpoint served the request; the cause, also the `source()`, says why.
    Unserved(Unserved),
    /// The endpoint's service failed with this, also the `source()`.
    Endpoint(BoxError),
}

/// Why no endpoint served a request.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unserved {
    /// The request did not go through an [`AssignLayer`](crate::AssignLayer).
    #[error("nothing has decided which group serves the request")]
    NoDecision,
    /// The group has no ready endpoint here, or none that can be reached. Nothing was sent to one.
    #[error("no endpoint of group {0} is ready")]
    NoReadyEndpoint(GroupName),
    /// The group has as many requests in flight as it may.
    #[error("group {0} is at its limit of requests in flight")]
    Capacity(GroupName),
    /// The endpoint says that it serves another group than this one.
    #[error("an endpoint of group {0} serves another group")]
    WrongGroup(GroupName),
}

impl From<Unserved> for Error {
    fn from(unserved: Unserved) -> Self {
        Self::Unserved(unserved)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unserved(_) => "no endpoint served the request",
            Self::Endpoint(_) => "the endpoint failed",
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Unserved(unserved) => unserved,
            Self::Endpoint(error) => &**error,
        })
    }
}
