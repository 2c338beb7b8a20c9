//! `GET /v1/overview`: everything that the page shows, in one answer.
//!
//! What requests did is read from the gateway's own page of metrics (`exposition`), summed up by
//! group (`counts`) and compared with earlier looks (`sampler`): only while somebody asks, so that
//! the path of a request pays nothing for it.

mod counts;
mod exposition;
mod sampler;
mod view;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

pub(crate) use self::sampler::Sampler;
pub(crate) use self::view::Sources;
use super::AdminOptions;
use super::problem::Problem;

#[utoipa::path(
    get,
    path = "/v1/overview",
    tag = "rollout",
    operation_id = "overview",
    summary = "Everything that the page shows",
    responses((status = 200, body = view::Overview, description = "What is so now."))
)]
pub(super) async fn overview(State(options): State<AdminOptions>) -> Result<Response, Problem> {
    let text = options.overview.overview().await.map_err(|_| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed",
            "the overview could not be made",
        )
    })?;
    let kind = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((kind, text.to_string()).into_response())
}
