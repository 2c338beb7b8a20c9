//! A client with a cookie, and the layer under test.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;
use tower_affinity::core::{
    AbortRequest, AlwaysReady, Change, Clock, NewGroup, Revision, Rollout, Timestamp, Weight,
};
use tower_affinity::{AffinityBuilder, AffinityLayer, Keyring, Rollouts};

use crate::{Answer, State};

pub(super) const OLD: &str = "9f1c2ab";
pub(super) const NEW: &str = "c3d4e5f";

const START: u64 = 1_800_000_000;

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(START)
    }
}

/// OLD is stable; all new sessions go to NEW.
pub(super) fn rollouts() -> Rollouts {
    let now = Timestamp::from_secs(START);
    let groups = [
        NewGroup::active(OLD.parse().unwrap(), Weight::ZERO).stable(),
        NewGroup::active(NEW.parse().unwrap(), Weight::new(1).unwrap()),
    ];
    Rollout::new(Revision(START), now, groups).unwrap().into()
}

pub(super) fn layer(rollouts: &Rollouts) -> AffinityBuilder {
    let key = "2026-11:q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE";
    AffinityLayer::builder()
        .keyring(Keyring::parse(key).unwrap())
        .service("checkout")
        .rollout(rollouts.clone())
        .clock(Still)
}

/// Rolls NEW back.
pub(super) fn abort_new(rollouts: &Rollouts) {
    let new = NEW.parse().unwrap();
    let request = AbortRequest::default();
    let aborted = rollouts.update(|now| now.abort(&new, &request, &AlwaysReady, after(now)));
    aborted.expect("the abort is allowed");
}

/// Gives OLD all new sessions; NEW drains.
pub(super) fn promote_old(rollouts: &Rollouts) {
    let old = OLD.parse().unwrap();
    let promoted = rollouts.update(|now| now.promote(&old, after(now)));
    promoted.expect("the promotion is allowed");
}

/// Draws new sessions to both groups alike.
pub(super) fn weigh_evenly(rollouts: &Rollouts) {
    let weights = [OLD, NEW].map(|name| (name.parse().unwrap(), Weight::MAX));
    let changed = rollouts.update(|now| now.weights(&weights.into(), after(now)));
    changed.expect("the weights are allowed");
}

fn after(now: &Rollout) -> Change {
    Change {
        revision: Revision(now.revision().0 + 1),
        now: Timestamp::from_secs(START),
        max_age: Duration::from_secs(4 * 3600),
    }
}

/// A client that keeps the one cookie it is given, as a browser does.
pub(super) struct Client {
    app: Router,
    pub(super) cookie: Option<String>,
}

pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Client {
    pub(super) fn new(app: Router) -> Self {
        Self { app, cookie: None }
    }

    pub(super) async fn send(
        &mut self,
        request: axum::http::request::Builder,
        body: Body,
    ) -> Reply {
        let peer: SocketAddr = "192.0.2.7:4000".parse().unwrap();
        let request = request.extension(ConnectInfo(peer));
        let request = match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        };
        let response = self.app.clone().oneshot(request.body(body).unwrap()).await;
        let (parts, body) = response.unwrap().into_parts();
        if let Some(set) = parts.headers.get(SET_COOKIE) {
            let set = set.to_str().unwrap();
            let pair = set.split(';').next().unwrap();
            self.cookie = (!set.contains("Max-Age=0")).then(|| pair.to_owned());
        }
        let body = body.collect().await.unwrap().to_bytes();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(super) async fn get(&mut self, path: &str) -> Reply {
        self.send(Request::get(path), Body::empty()).await
    }

    pub(super) async fn post(&mut self, path: &str, state: Option<&State>) -> Reply {
        let body = state.map_or_else(Body::empty, |state| {
            Body::from(serde_json::to_vec(state).unwrap())
        });
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        self.send(request, body).await
    }
}

impl Reply {
    pub(super) fn answer(&self) -> Answer {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }
}
