//! [`Entrance`]: the admin side from the first moment on, also before there is a state to show.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tower_service::Service;

use super::problem::Problem;
use super::views;

/// Answers that there is no state yet, until it is opened. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entrance(Arc<OnceLock<Router>>);

impl Entrance {
    /// From now on `routes` answer; those of the first call stay.
    pub(crate) fn open(&self, routes: Router) {
        self.0.get_or_init(|| routes);
    }

    /// What is served.
    pub(crate) fn routes(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }
}

async fn answer(State(entrance): State<Entrance>, request: Request) -> Response {
    match entrance.0.get() {
        // a router is always ready
        Some(routes) => match routes.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        None => waiting(request.uri().path()).await,
    }
}

async fn waiting(path: &str) -> Response {
    match path {
        "/livez" => views::alive().await.into_response(),
        "/readyz" => views::unready(&[WAITING.to_owned()]),
        _ => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "not-ready",
            "the gateway has no state yet",
        )
        .detail(WAITING)
        .into_response(),
    }
}

const WAITING: &str = "waiting for the shared state: the engine does not answer";
