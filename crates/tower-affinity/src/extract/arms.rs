//! `Arms`, and what is answered where there are none.

use std::convert::Infallible;
use std::fmt;

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;

use crate::{Arms, Problem};

/// The request did not go through an [`AffinityLayer`](crate::AffinityLayer) with experiments, nor
/// through a [`FromGatewayLayer`](crate::FromGatewayLayer) that a gateway has told something.
#[derive(Clone, Copy, Debug)]
pub struct MissingArms;

impl fmt::Display for MissingArms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the request did not go through an AffinityLayer with experiments: add the layer after \
             the route, and give it AffinityBuilder::experiments",
        )
    }
}

impl std::error::Error for MissingArms {}

impl IntoResponse for MissingArms {
    fn into_response(self) -> Response {
        tracing::error!("{self}");
        Problem::Internal.response("experiments are not set up for this route")
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
