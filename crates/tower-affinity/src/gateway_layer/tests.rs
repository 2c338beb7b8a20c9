//! Facts about the whole stack, seen by a client, by an endpoint and in the metrics.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod outcomes;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_affinity_core::{NewGroup, Revision, Rollout, Timestamp};
use tower_affinity_testing::{START, active, name, rollout};

use super::{GatewayLayer, GatewayService};
use crate::balance::{Endpoint, GroupBalance, ReplayBody};
use crate::fixtures::Metrics;
use crate::respond::UpstreamFault;
use crate::{AffinityLayer, Groups, Keyring, Rollouts};

type Answer = Result<Response<Full<Bytes>>, UpstreamFault>;

/// What an endpoint gets.
type Sent = ReplayBody<Empty<Bytes>>;

/// Makes the answers of all endpoints.
type Application = Arc<dyn Fn(&Request<Sent>) -> Answer + Send + Sync>;

/// A gateway in front of an application, and all that can be seen of it.
struct Site {
    rollouts: Rollouts,
    groups: Groups,
    metrics: Metrics,
    /// What the last endpoint that was asked got.
    got: Arc<Mutex<HeaderMap>>,
    layer: GatewayLayer,
}

impl Site {
    /// Every group of `rollout` has two endpoints.
    fn new(rollout: Rollout) -> Self {
        let groups = Groups::default();
        for (nth, group) in (0_u16..).zip(rollout.groups()) {
            let ports = [7000 + 2 * nth, 7001 + 2 * nth];
            groups.update(
                group.name(),
                ports.map(|port| ([127, 0, 0, 1], port).into()),
            );
        }
        let (rollouts, metrics) = (Rollouts::fixed(rollout), Metrics::new());
        let keyring = Keyring::parse("k1:q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE").unwrap();
        let affinity = AffinityLayer::builder()
            .keyring(keyring)
            .service("checkout")
            .rollout(rollouts.clone())
            .readiness(groups.clone())
            .recorder(metrics.recorder.clone());
        Self {
            layer: GatewayLayer::new(affinity.build().unwrap()),
            got: Arc::default(),
            rollouts,
            groups,
            metrics,
        }
    }

    async fn send(
        &self,
        request: Request<Empty<Bytes>>,
        application: Application,
    ) -> Response<Bytes> {
        let got = Arc::clone(&self.got);
        let connect = move |_: &Arc<Endpoint>| {
            let (got, application) = (Arc::clone(&got), Arc::clone(&application));
            service_fn(move |request: Request<Sent>| {
                *got.lock().unwrap() = request.headers().clone();
                std::future::ready(application(&request))
            })
        };
        let leaf =
            GroupBalance::new(self.groups.clone(), connect).recorder(self.metrics.recorder.clone());
        let response = self.layer.layer(leaf).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Response::from_parts(parts, body)
    }

    fn got(&self, header: &str) -> Option<String> {
        let got = self.got.lock().unwrap();
        let value = got.get(header)?;
        Some(value.to_str().unwrap().to_owned())
    }
}

fn get(pin: Option<&str>) -> Request<Empty<Bytes>> {
    let request = Request::get("/step").header("affinity-pin", pin.unwrap_or_default());
    request.body(Empty::new()).unwrap()
}

fn pin(response: &Response<Bytes>) -> String {
    let pin = response.headers().get("affinity-pin");
    pin.expect("no pin was given").to_str().unwrap().to_owned()
}

fn says(status: u16, headers: &'static [(&'static str, &'static str)]) -> Application {
    Arc::new(move |_| {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        Ok(response.body(Full::from("served")).unwrap())
    })
}

#[test]
fn nothing_fails_outside_of_the_stack() {
    fn fits<S: Service<Request<Empty<Bytes>>, Error = Infallible>>(_: &S) {}
    let site = Site::new(rollout(1, &[("a", 1)]));
    let connect = |_: &Arc<Endpoint>| {
        service_fn(|_: Request<Sent>| async { Answer::Err(UpstreamFault::Closed) })
    };
    let stack: GatewayService<_> = site
        .layer
        .layer(GroupBalance::new(site.groups.clone(), connect));
    fits(&stack);
}

#[tokio::test]
async fn it_serves_as_the_fallback_of_a_router() {
    use axum::body::Body;

    let site = Site::new(rollout(1, &[("a", 1)]));
    let connect = |_: &Arc<Endpoint>| {
        service_fn(|_: Request<ReplayBody<Body>>| async {
            Answer::Ok(Response::new(Full::from("served")))
        })
    };
    let leaf = GroupBalance::new(site.groups.clone(), connect);
    let app = axum::Router::new()
        .route("/own", axum::routing::get(|| async { "the router's own" }))
        .fallback_service(site.layer.layer(leaf));
    for (path, body) in [("/step", "served"), ("/own", "the router's own")] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let pins = response.headers().contains_key("set-cookie");
        assert_eq!(pins, path == "/step", "a pin on {path}");
        assert_eq!(
            response.into_body().collect().await.unwrap().to_bytes(),
            body
        );
    }
}

#[tokio::test]
async fn a_session_is_named_to_its_endpoint_and_stays_in_its_group() {
    let site = Site::new(rollout(1, &[("a", 50), ("b", 50)]));
    let first = site.send(get(None), says(200, &[])).await;
    let (pin, group) = (pin(&first), site.got("affinity-group").unwrap());
    let session = site
        .got("affinity-session")
        .expect("the session has a name");
    assert_eq!(
        site.got("affinity-decision").unwrap(),
        "assigned; cause=new"
    );
    assert_eq!(
        site.got("affinity-pin"),
        None,
        "the pin is not the endpoint's"
    );
    for _ in 0..20 {
        site.send(get(Some(&pin)), says(200, &[])).await;
        assert_eq!(site.got("affinity-group").as_ref(), Some(&group));
        assert_eq!(site.got("affinity-session").as_ref(), Some(&session));
        assert_eq!(site.got("affinity-decision").unwrap(), "pinned; cause=ok");
    }
}

#[tokio::test]
async fn what_the_endpoint_says_is_heard_and_never_reaches_the_client() {
    let site = Site::new(rollout(1, &[("a", 1)]));
    let first = pin(&site.send(get(None), says(200, &[])).await);
    let answers = [
        ("affinity-session", "end"),
        ("affinity-outcome", "success"),
        ("affinity-group", "forged"),
        ("affinity-pin", "planted"),
        ("affinity_pin", "planted"),
    ];
    let application: Application = Arc::new(move |_| {
        let mut response = Response::new(Full::from("bye"));
        for (name, value) in answers {
            response.headers_mut().append(name, value.parse().unwrap());
        }
        Ok(response)
    });
    let last = site.send(get(Some(&first)), application).await;
    assert_eq!(pin(&last), "", "the end of the session was not heard");
    let ours = last
        .headers()
        .keys()
        .filter(|name| crate::tag::is_ours(name));
    assert_eq!(ours.count(), 1, "{:?}", last.headers());
    assert_eq!(site.metrics.take()["affinity_pins_planted_total{}"], 1.0);
}

#[tokio::test]
async fn errors_of_endpoints_become_answers_without_a_pin() {
    let site = Site::new(rollout(1, &[("a", 1)]));
    let timeout: Application = Arc::new(|_| Err(UpstreamFault::Timeout));
    let misdirected = says(421, &[("affinity-misdirected", "1")]);
    for (application, status, kind) in [
        (timeout, 504, "upstream-timeout"),
        (misdirected, 503, "wrong-group"),
    ] {
        let response = site.send(get(None), application).await;
        assert_eq!(response.status().as_u16(), status);
        let problem: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(problem["type"], kind);
        assert!(
            !response.headers().contains_key("affinity-pin"),
            "a pin was set"
        );
        assert!(!response.headers().contains_key("affinity-misdirected"));
    }
}

#[tokio::test]
async fn a_group_that_is_down_is_waited_for_and_no_other_serves_its_sessions() {
    let site = Site::new(rollout(1, &[("a", 1), ("b", 0)]));
    let pinned = pin(&site.send(get(None), says(200, &[])).await);
    site.groups.clear(&name("a"));
    let response = site.send(get(Some(&pinned)), says(200, &[])).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "1");
    let problem: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(problem["type"], "no-ready-endpoint");
}

#[tokio::test]
async fn a_move_that_finds_no_room_is_refused_and_writes_no_pin() {
    let site = Site::new(rollout(1, &[("a", 1), ("b", 0)]));
    let pinned = pin(&site.send(get(None), says(200, &[])).await);
    let groups = [
        active("b", 1).stable(),
        NewGroup::aborted(name("a"), name("b")),
    ];
    let aborted = Rollout::new(Revision(2), Timestamp::from_secs(START), groups).unwrap();
    let changed = site.rollouts.update(|_| Ok::<_, Infallible>(aborted));
    changed.unwrap();
    site.groups.limit(&name("b"), Some(4));
    site.groups.reserve(&name("b"), 100);
    let refused = site.send(get(Some(&pinned)), says(200, &[])).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let problem: serde_json::Value = serde_json::from_slice(refused.body()).unwrap();
    assert_eq!(problem["type"], "capacity");
    let after = refused.headers()["retry-after"].to_str().unwrap();
    assert!(["1", "2", "3"].contains(&after), "{after}");
    for carrier in ["affinity-pin", "set-cookie"] {
        assert!(!refused.headers().contains_key(carrier), "a pin was set");
    }
    assert_eq!(
        site.got("affinity-group").as_deref(),
        Some("a"),
        "b was asked"
    );
    site.groups.reserve(&name("b"), 0);
    let moved = site.send(get(Some(&pinned)), says(200, &[])).await;
    assert_eq!(moved.status(), StatusCode::OK);
    assert_ne!(pin(&moved), pinned);
    let decision = site.got("affinity-decision");
    assert_eq!(decision.as_deref(), Some("moved; cause=aborted"));
}

#[tokio::test]
async fn every_request_is_counted_once_however_it_ends() {
    let site = Site::new(rollout(1, &[("a", 1), ("b", 0)]));
    let closed: Application = Arc::new(|_| Err(UpstreamFault::Closed));
    let pinned = pin(&site.send(get(None), says(200, &[])).await);
    site.send(get(Some(&pinned)), says(404, &[])).await;
    site.send(get(Some(&pinned)), closed).await;
    site.send(get(Some("forged")), says(200, &[])).await;
    site.groups.clear(&name("a"));
    site.send(get(Some(&pinned)), says(200, &[])).await;
    site.send(get(None), says(200, &[])).await; // refused: no group that takes sessions is ready
    site.metrics.recorder.rollout(&site.rollouts.current());
    let seen = site.metrics.take();
    let counted = seen
        .iter()
        .filter(|(series, _)| series.starts_with("affinity_requests_total"));
    let counted: Vec<_> = counted.collect();
    assert_eq!(
        counted.iter().map(|(_, n)| **n).sum::<f64>(),
        6.0,
        "{counted:#?}"
    );
    let current = "affinity_requests_total{group=a,cohort=current";
    for series in [
        format!("{current},decision=assigned,cause=new,code_class=2xx}}"),
        format!("{current},decision=pinned,cause=ok,code_class=4xx}}"),
        // an endpoint that broke off, and a group without one: what the client gets counts
        format!("{current},decision=pinned,cause=ok,code_class=5xx}}"),
        format!("{current},decision=assigned,cause=malformed,code_class=2xx}}"),
        "affinity_requests_total{group=none,cohort=none,decision=refused,cause=no_ready,code_class=5xx}".to_owned(),
        "affinity_sessions_assigned_total{group=a}".to_owned(),
    ] {
        assert!(seen.contains_key(&series), "{series} is missing in {seen:#?}");
    }
    assert_eq!(
        seen["affinity_sessions_assigned_total{group=a}"], 2.0,
        "only an answer of the group begins a session"
    );
    assert!(
        seen.keys().all(|series| !series.contains("in_flight")),
        "{seen:#?}"
    );
}
