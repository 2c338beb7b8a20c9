//! An axum service whose sessions stay on their commit, without a gateway in front.
//!
//! The service is a small flow of several steps; the client carries the flow's state from step to
//! step. A commit refuses state that another commit wrote, as real flows do whose steps have
//! changed, so a session that hopped between commits would break. [`app`] adds one layer, and
//! each session stays where it began; when a rollback moves it, the flow sees that and restarts.
//!
//! Two ways to run it:
//!
//! - with a commit (`COMMIT=9f1c2ab`): this process is one of the groups, a balancer in front has
//!   drawn already. New sessions are this process's own; a request whose session belongs to
//!   another commit is answered 421 with `affinity-misdirected: 1`, so that the balancer can try
//!   another process. So is one that names another commit in `affinity-group`, as a gateway does
//!   whose list of addresses is a moment old ([`GroupIdentityLayer`]).
//! - without: this process holds the code of all groups, the layer draws by weight, and handlers
//!   branch on [`Affinity::group`](tower_affinity::Affinity::group).
//!
//! ```sh
//! export AFFINITY_KEYS="2026-11:$(cargo run -q -p gateway -- keys new)"
//! cargo run -p axum-service -- --groups 9f1c2ab=90,c3d4e5f=10 --plain-http
//! curl -c jar -b jar -X POST http://127.0.0.1:3000/start
//! curl -c jar -b jar --json '{"commit":"9f1c2ab","done":0}' http://127.0.0.1:3000/step
//! ```

mod connection;
mod flow;
mod peer;
mod settings;
#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::map_request;
use axum::routing::{get, post};
use tower_affinity::core::GroupName;
use tower_affinity::{AffinityLayer, GroupIdentityLayer};
use tower_http::timeout::TimeoutLayer;

pub use self::connection::{serve, serve_connection};
pub use self::flow::{Answer, State};
pub use self::settings::{Settings, SettingsError};

/// How long one request may take, its body included.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// The service with its routes and layers.
///
/// It expects axum's `ConnectInfo<SocketAddr>` on each request; [`serve`] sees to that.
///
/// A process that is one commit refuses what somebody in front has meant for another one, before a
/// pin is read.
pub fn app(affinity: AffinityLayer, commit: Option<GroupName>) -> Router {
    let app = Router::new()
        .route("/", get(flow::greet))
        .route("/start", post(flow::start))
        .route("/step", post(flow::step))
        .route("/finish", post(flow::finish))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            REQUEST_LIMIT,
        ))
        .layer(affinity)
        // outside of affinity, which may draw by the client's address
        .layer(map_request(peer::tell));
    match commit {
        Some(commit) => app.layer(GroupIdentityLayer::new(commit)),
        None => app,
    }
}
