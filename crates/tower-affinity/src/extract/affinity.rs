//! `Affinity` and `Propagation`, and what is answered where there is no decision.

use std::convert::Infallible;
use std::fmt;

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;

use crate::{Affinity, Propagation};

/// The request did not go through an [`AffinityLayer`](crate::AffinityLayer).
#[derive(Clone, Copy, Debug)]
pub struct MissingAffinity;

impl fmt::Display for MissingAffinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the request did not go through an AffinityLayer: add it to the router after the \
             route, since `Router::layer` only wraps the routes that are there already",
        )
    }
}

impl std::error::Error for MissingAffinity {}

impl IntoResponse for MissingAffinity {
    fn into_response(self) -> Response {
        tracing::error!("{self}");
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            "affinity is not set up for this route",
        )
            .into_response()
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

/// The context of the request; an empty one in scopes that do not propagate.
impl<S: Sync> FromRequestParts<S> for Propagation {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Affinity {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
