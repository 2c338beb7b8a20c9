//! `Signal` and `Outcome` as parts of an answer.

use std::convert::Infallible;

use axum_core::response::{IntoResponseParts, ResponseParts};

use crate::signal::{Outcome, Signal, said};

impl IntoResponseParts for Signal {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        said::signal(parts.extensions_mut(), self);
        Ok(parts)
    }
}

impl IntoResponseParts for Outcome {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        said::outcome(parts.extensions_mut(), self);
        Ok(parts)
    }
}
