//! The admin side: verbs, views, metrics and health of the gateway, as JSON over HTTP.
//!
//! It has a listener of its own. `guard` lets in who may, `views` shows, `verbs` changes; errors
//! are problem details (RFC 9457) like everywhere else.

mod analysis;
mod endpoint;
mod endpoints;
mod entrance;
mod explain;
mod facts;
mod guard;
mod listen;
mod mint;
mod openapi;
mod overview;
mod page;
mod pins;
mod preview;
mod problem;
mod replicas;
mod side;
mod streams;
mod token;
mod verbs;
mod views;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::get;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use tokio_util::sync::CancellationToken;
use tower_affinity::record::Recorder;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::entrance::Entrance;
pub(crate) use self::overview::{Sampler, Sources};
pub(crate) use self::side::{ADMIN_CONNECTIONS, serve_side};
pub(crate) use self::streams::Streams;
pub use self::token::{AdminToken, TokenError};
use crate::control::Control;

/// What the admin side needs.
#[derive(Clone)]
pub struct AdminOptions {
    /// The control plane.
    pub control: Control,
    /// What changing calls have to show.
    pub token: AdminToken,
    /// The address that it listens on: off loopback, reading needs the token too.
    pub address: SocketAddr,
    /// The address of the data plane: neither of the two is ever an endpoint.
    pub data: SocketAddr,
    /// What knows the live sessions.
    pub recorder: Recorder,
    /// Renders all metrics as text.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// What stands against sending traffic to the data plane, for people; nothing if it is ready.
    pub unready: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Makes overviews.
    pub(crate) overview: Sampler,
    /// The places of streams of events.
    pub(crate) streams: Streams,
    /// When streams of events end.
    pub(crate) ending: CancellationToken,
}

impl std::fmt::Debug for AdminOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminOptions")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The routes of the admin side.
pub fn router(options: AdminOptions) -> Router {
    let guard = guard::Guard::new(options.token.clone(), options.address.ip());
    let (api, document) = OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(overview::overview))
        .routes(routes!(explain::explain))
        .routes(routes!(listen::events))
        .routes(routes!(views::rollout))
        .routes(routes!(verbs::weights))
        .routes(routes!(verbs::lock))
        .routes(routes!(verbs::unlock))
        .routes(routes!(verbs::register))
        .routes(routes!(views::group))
        .routes(routes!(views::drained))
        .routes(routes!(verbs::group))
        .routes(routes!(endpoint::mark))
        .routes(routes!(analysis::analysis))
        .routes(routes!(facts::all))
        .routes(routes!(facts::forget))
        .routes(routes!(replicas::all))
        .routes(routes!(replicas::forget))
        .routes(routes!(mint::mint))
        .routes(routes!(pins::inspect))
        .split_for_parts();
    let document = Bytes::from(openapi::finished(document));
    let document = async move || ([(CONTENT_TYPE, "application/json")], document.clone());
    api.route("/v1/openapi.json", get(document))
        .layer(from_fn_with_state(guard.clone(), guard::check))
        .merge(
            Router::new()
                .route("/", get(page::index))
                .route("/page/{file}", get(page::file))
                .route("/metrics", get(views::metrics))
                .layer(from_fn_with_state(guard, guard::check_page)),
        )
        .route("/livez", get(views::alive))
        .route("/readyz", get(views::ready))
        .fallback(problem::not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .layer(map_response(page::guarded))
        .with_state(options)
}
