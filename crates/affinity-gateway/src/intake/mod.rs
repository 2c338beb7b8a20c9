//! What clients may send as bodies: so many bytes, and without long pauses.
//!
//! A body whose length says that it is too long is answered 413 before anything is forwarded. One
//! that turns out to be, or pauses for too long, breaks: the exchange with the endpoint is given
//! up, and if there is no answer yet the client is told 413 or 408.

mod body;
mod future;
mod service;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tower_affinity::wire::PathPattern;

pub(crate) use self::body::{BodyFault, Bounded};
pub(crate) use self::service::{Intake, IntakeLayer};
use crate::edge::Refusal;

/// What bodies may be.
#[derive(Clone)]
pub(crate) struct BodyLimits {
    /// The most bytes, for paths that no scope says otherwise of.
    pub(crate) most: u64,
    /// The most bytes by path; the first pattern that matches counts.
    pub(crate) scopes: Vec<(PathPattern, u64)>,
    /// How long a body may bring nothing while somebody waits for it.
    pub(crate) patience: Duration,
    /// Is told of each body that is refused or broken.
    pub(crate) told: Arc<dyn Fn(BodyFault) + Send + Sync>,
}

impl BodyLimits {
    fn most(&self, path: &str) -> u64 {
        let scope = self.scopes.iter().find(|(scope, _)| scope.matches(path));
        scope.map_or(self.most, |(_, most)| *most)
    }
}

impl std::fmt::Debug for BodyLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyLimits")
            .field("most", &self.most)
            .field("scopes", &self.scopes)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// How a body that broke is answered.
fn refusal(fault: BodyFault) -> Refusal {
    match fault {
        BodyFault::TooLong => Refusal::bad(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The body of the request is too long.",
        ),
        BodyFault::TooSlow => Refusal::bad(
            StatusCode::REQUEST_TIMEOUT,
            "The body of the request did not come in time.",
        ),
    }
}
