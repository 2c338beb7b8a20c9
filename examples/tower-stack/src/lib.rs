//! An internal gateway that brings its own tower stack: commit affinity is some layers of it.
//!
//! [`stack`] puts the layers in their order around [`GroupBalance`], whose leaf here is
//! [`Forward`] over the pooled client of `hyper-util`. Nothing can fail outside of the stack, so
//! it fits `Router::fallback_service` of axum ([`app`]) as well as a bare hyper service
//! ([`serve_connection`]). It is `Send` exactly when what it connects with is, so that each thread
//! can have a stack and pools of its own.
//!
//! It does what affinity needs and no more: the crate `affinity-gateway` has the limits,
//! health checks and upgrades that a gateway at the edge needs.
//!
//! ```sh
//! export AFFINITY_KEYS="2026-11:$(cargo run -q -p gateway -- keys new)"
//! cargo run -p tower-stack -- --group 9f1c2ab=90@127.0.0.1:7001+127.0.0.1:7002 \
//!     --group c3d4e5f=10@127.0.0.1:7003
//! ```

mod forward;
mod hops;
mod serve;
mod settings;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::Request;
use tower::ServiceBuilder;
use tower::util::MapRequest;
use tower_affinity::balance::ReplayBody;
use tower_affinity::{
    AffinityLayer, GatewayService, GroupBalance, GroupMetricsLayer, GroupTagLayer, Groups,
    RespondLayer,
};

pub use self::forward::{Forward, Pool, forward_over, pool};
pub use self::serve::{serve, serve_connection};
pub use self::settings::{Settings, SettingsError};

/// The service of [`stack`]: `C` connects, `B` is the body of a request.
pub type Stack<C, B> = MapRequest<GatewayService<GroupBalance<C>>, fn(Request<B>) -> Request<B>>;

/// The layers in their order. Those of the gateway's own go where they belong: limits outside,
/// what changes a request for the endpoint inside.
pub fn stack<C, B>(affinity: AffinityLayer, groups: Groups, connect: C) -> Stack<C, B> {
    ServiceBuilder::new()
        // before our names are set: `Connection: affinity-group` must not take them away
        .map_request(hops::strip_request as fn(Request<B>) -> Request<B>)
        // finds or makes the pin, decides, writes it back
        .layer(affinity)
        // names the group to the endpoint, removes names that a client forged
        .layer(GroupTagLayer::new())
        // counts and times per group and cohort, what the client gets
        .layer(GroupMetricsLayer::new())
        // errors become answers: outside of it nothing can fail
        .layer(RespondLayer::new())
        // picks an endpoint of the group
        .service(GroupBalance::new(groups, connect))
}

/// The stack behind a router that has routes of its own too.
pub fn app(affinity: AffinityLayer, groups: Groups) -> Router {
    let connect = forward_over::<ReplayBody<Body>>(pool());
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .fallback_service(stack(affinity, groups, connect))
}
