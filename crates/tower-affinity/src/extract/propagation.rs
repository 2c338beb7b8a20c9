//! `Propagation`: what goes on with the session.

use std::convert::Infallible;

use axum_core::extract::FromRequestParts;
use http::request::Parts;

use crate::Propagation;

/// The context of the request; an empty one in scopes that do not propagate.
impl<S: Sync> FromRequestParts<S> for Propagation {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
