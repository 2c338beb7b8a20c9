//! An axum service whose sessions stay on their commit, without a gateway in front.
//!
//! The service is a small flow of several steps; the client carries the flow's state from step to
//! step. A commit refuses state that another commit wrote, as real flows do whose steps have
//! changed, so a session that hopped between commits would break. [`app`] adds one layer, and
//! each session stays where it began; when a rollback moves it, the flow sees that and restarts.
//!
//! Ways to run it:
//!
//! - with a commit (`COMMIT=9f1c2ab`): this process is one of the groups, a balancer in front has
//!   drawn already. New sessions are this process's own; a request whose session belongs to
//!   another commit is answered 421 with `affinity-misdirected: 1`, so that the balancer can try
//!   another process. So is one that names another commit in `affinity-group`, as a gateway does
//!   whose list of addresses is a moment old ([`GroupIdentityLayer`]).
//! - with a commit and a list of peers (`--peers FILE`): what belongs to another commit is forwarded to
//!   a process of it instead ([`PeerForwardLayer`](tower_affinity::PeerForwardLayer)). Together with
//!   `--rollout FILE`, which is followed, that is a whole deployment without a gateway.
//! - without a commit: this process holds the code of all groups, the layer draws by weight, and handlers
//!   branch on [`Affinity::group`](tower_affinity::Affinity::group).
//!
//! ```sh
//! export AFFINITY_KEYS="2026-11:$(cargo run -q -p gateway -- keys new)"
//! cargo run -p axum-service -- --groups 9f1c2ab=90,c3d4e5f=10 --plain-http
//! curl -c jar -b jar -X POST http://127.0.0.1:3000/start
//! curl -c jar -b jar --json '{"commit":"9f1c2ab","done":0}' http://127.0.0.1:3000/step
//! ```
//!
//! The file of `--rollout` is the deployment's only control. The second binary writes it: it knows the
//! rules of a rollout, replaces the file whole, lets one change it at a time, and says beforehand what a
//! change would do (`--preview`).
//!
//! ```sh
//! cargo run -p axum-service --bin rollout -- rollout.json init 9f1c2ab=100
//! cargo run -p axum-service --bin rollout -- rollout.json register c3d4e5f --weight 10
//! cargo run -p axum-service --bin rollout -- rollout.json promote c3d4e5f --preview
//! cargo run -p axum-service --bin rollout -- rollout.json abort c3d4e5f
//! ```
//!
//! It asks no process: an abort takes its target for ready, and a draining group counts as drained only
//! when the oldest session can have ended (4 hours, and twice the 5 minutes that clocks may differ;
//! `retire --force` does not wait). Both hold for the default lifetimes, which this service has.
//!
//! Probes ask `/livez`: it is outside of the layers, begins no session, and is never forwarded.
//!
//! `--demo` shows the second way with three processes of two commits, 200 clients and a balancer that
//! knows no sessions: the new commit is weighed in, promoted and aborted. No session breaks in the
//! rollout, and each moves at most once; the exit code is 1 if that is not so.
//!
//! ```sh
//! cargo run -p axum-service -- --demo
//! ```

mod connection;
mod demo;
mod flow;
mod forward;
mod peer;
mod rollout;
mod settings;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::map_request;
use axum::response::IntoResponse;
use axum::routing::{Route, get, post};
use tower::{Layer, Service};
use tower_affinity::GroupIdentityLayer;
use tower_affinity::core::GroupName;
use tower_http::timeout::TimeoutLayer;

pub use self::connection::{serve, serve_connection};
pub use self::demo::demo;
pub use self::flow::{Answer, State};
pub use self::forward::{ConnectOver, Forward, Pool, pool};
pub use self::rollout::{Failure, RolloutTool};
pub use self::settings::{Settings, SettingsError, forwarding};

/// How long one request may take, its body included.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// The service with its routes and layers. `affinity` is an
/// [`AffinityLayer`](tower_affinity::AffinityLayer) or a
/// [`PeerForwardLayer`](tower_affinity::PeerForwardLayer).
///
/// It expects axum's `ConnectInfo<SocketAddr>` on each request; [`serve`] sees to that.
///
/// A process that is one commit refuses what somebody in front has meant for another one, before a
/// pin is read. `GET /livez` is answered by this process itself, outside of every layer.
pub fn app<L>(affinity: L, commit: Option<GroupName>) -> Router
where
    L: Layer<Route> + Clone + Send + Sync + 'static,
    L::Service: Service<Request, Response: IntoResponse, Error: Into<Infallible>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    let app = Router::new()
        .route("/", get(flow::greet))
        .route("/start", post(flow::start))
        .route("/step", post(flow::step))
        .route("/finish", post(flow::finish))
        .layer(affinity)
        // outside of affinity: it holds for what is forwarded too
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            REQUEST_LIMIT,
        ))
        // outside of affinity, which may draw by the client's address
        .layer(map_request(peer::tell));
    let app = match commit {
        Some(commit) => app.layer(GroupIdentityLayer::new(commit)),
        None => app,
    };
    // merged last, outside of all layers: a probe asks this process and no other, and begins no session
    app.merge(Router::new().route("/livez", get(async || "alive\n")))
}
