//! [`Moved`]: the session was moved, and the application has not said yet that it has seen it.

use std::convert::Infallible;

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use thiserror::Error;
use tower_affinity_core::{LastMove, Timestamp};

use super::MissingAffinity;
use crate::signal::Signal;
use crate::{Affinity, Problem};

/// The session was moved, and the application has not yet answered [`Moved::seen`]: every request of
/// the session says so until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved(LastMove);

impl Moved {
    /// The name of the group that the session has left; `unknown` for one that nobody here knows any
    /// more.
    #[must_use]
    pub fn from(&self) -> &str {
        self.0.from.label()
    }

    /// When, in whole seconds.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.0.at
    }

    /// Why: `aborted`, `gone`, `group_down`, `released`, `step`, or a word of a later release.
    #[must_use]
    pub fn cause(&self) -> &str {
        self.0.cause.as_str()
    }

    /// The whole of it.
    #[must_use]
    pub fn last_move(&self) -> &LastMove {
        &self.0
    }

    /// What to answer, in front of the body, once the application has done what a move asks for: it is
    /// told no more of this one.
    #[must_use]
    pub fn seen(&self) -> Signal {
        Signal::MovedSeen
    }

    fn of(affinity: &Affinity) -> Option<Self> {
        affinity.moved_from().cloned().map(Self)
    }
}

/// Why there is no [`Moved`].
#[derive(Clone, Copy, Debug, Error)]
#[non_exhaustive]
pub enum NotMoved {
    /// The request did not go through an [`AffinityLayer`](crate::AffinityLayer).
    #[error(transparent)]
    Affinity(#[from] MissingAffinity),
    /// The session was not moved, or the application has seen its last move.
    #[error("the session was not moved, or its last move was seen")]
    Session,
}

impl IntoResponse for NotMoved {
    fn into_response(self) -> Response {
        match self {
            Self::Affinity(missing) => missing.into_response(),
            Self::Session => {
                tracing::debug!("a session that was not moved asked for its move");
                let detail = "this is for sessions that were moved, and this one was not";
                Problem::BadRequest.response_with(StatusCode::CONFLICT, detail)
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Moved {
    type Rejection = NotMoved;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NotMoved> {
        let affinity = parts.extensions.get().ok_or(MissingAffinity)?;
        Self::of(affinity).ok_or(NotMoved::Session)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Moved {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get().and_then(Self::of))
    }
}
