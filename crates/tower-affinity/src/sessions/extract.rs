//! The extractors `Local` and `Option<Local>` for axum.

use std::convert::Infallible;

use axum_core::extract::{FromRef, FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use thiserror::Error;

use super::{Local, LocalSessions};
use crate::{Affinity, MissingAffinity, Problem};

/// Why a request has no place for a value.
#[derive(Clone, Copy, Debug, Error)]
#[non_exhaustive]
pub enum NoLocal {
    /// It did not go through an [`AffinityLayer`](crate::AffinityLayer).
    #[error(transparent)]
    Affinity(#[from] MissingAffinity),
    /// It has no session: its scope has none, or a browser may have kept its cookie back.
    #[error("the request has no session")]
    Session,
}

impl IntoResponse for NoLocal {
    fn into_response(self) -> Response {
        match self {
            Self::Affinity(missing) => missing.into_response(),
            Self::Session => {
                tracing::debug!("a request without a session asked for its local value");
                Problem::BadRequest.response("the request has no session, and cannot do without")
            }
        }
    }
}

impl<S, T> FromRequestParts<S> for Local<T>
where
    S: Sync,
    LocalSessions<T>: FromRef<S>,
    T: Send + Sync + 'static,
{
    type Rejection = NoLocal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, NoLocal> {
        let affinity = parts.extensions.get::<Affinity>().ok_or(MissingAffinity)?;
        let local = LocalSessions::from_ref(state).of(affinity);
        local.ok_or(NoLocal::Session)
    }
}

impl<S, T> OptionalFromRequestParts<S> for Local<T>
where
    S: Sync,
    LocalSessions<T>: FromRef<S>,
    T: Send + Sync + 'static,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Option<Self>, Infallible> {
        let affinity = parts.extensions.get::<Affinity>();
        Ok(affinity.and_then(|affinity| LocalSessions::from_ref(state).of(affinity)))
    }
}
