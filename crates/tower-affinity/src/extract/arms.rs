//! `Arms`, and what is answered where there are none.

use std::convert::Infallible;

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use thiserror::Error;

use crate::problem::NOT_SET_UP;
use crate::{Arms, Problem};

/// The request did not go through an [`AffinityLayer`](crate::AffinityLayer) with experiments, nor
/// through a [`FromGatewayLayer`](crate::FromGatewayLayer) that a gateway has told something.
#[derive(Clone, Copy, Debug, Error)]
#[error(
    "the request did not go through an AffinityLayer with experiments: add the layer after the \
     route, and give it AffinityBuilder::experiments"
)]
pub struct MissingArms;

impl IntoResponse for MissingArms {
    fn into_response(self) -> Response {
        tracing::error!("{self}");
        Problem::Internal.response(NOT_SET_UP)
    }
}

impl<S: Sync> FromRequestParts<S> for Arms {
    type Rejection = MissingArms;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingArms> {
        parts.extensions.get().cloned().ok_or(MissingArms)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Arms {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get().cloned())
    }
}
