//! `Affinity`, and what is answered where there is no decision.

use std::convert::Infallible;

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use thiserror::Error;

use crate::problem::NOT_SET_UP;
use crate::{Affinity, Problem};

/// The request did not go through an [`AffinityLayer`](crate::AffinityLayer).
#[derive(Clone, Copy, Debug, Error)]
#[error(
    "the request did not go through an AffinityLayer: add it to the router after the route, since \
     `Router::layer` only wraps the routes that are there already"
)]
pub struct MissingAffinity;

impl IntoResponse for MissingAffinity {
    fn into_response(self) -> Response {
        tracing::error!("{self}");
        Problem::Internal.response(NOT_SET_UP)
    }
}

impl<S: Sync> FromRequestParts<S> for Affinity {
    type Rejection = MissingAffinity;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingAffinity> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or(MissingAffinity)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Affinity {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
