//! How the leaf serves a request.

use std::convert::Infallible;
use std::error::Error as _;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use tower::{Service, ServiceExt, service_fn};
use tower_affinity_testing::name;
use tower_test::mock;

use super::super::{Endpoint, Error, GroupBalance, Groups, Unserved};
use super::{address, groups, pinned};
use crate::balance::ReplayBody;
use crate::fixtures::{Metrics, Script};

/// Answers with that head.
fn answering(
    status: StatusCode,
    header: Option<&'static str>,
) -> impl Fn(&Arc<Endpoint>) -> Answers + Clone {
    move |_| Answers(status, header)
}

#[derive(Clone)]
struct Answers(StatusCode, Option<&'static str>);

impl Service<Request<ReplayBody<Empty<Bytes>>>> for Answers {
    type Response = Response<Script>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Script>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<ReplayBody<Empty<Bytes>>>) -> Self::Future {
        let mut response = Response::builder().status(self.0);
        if let Some(header) = self.1 {
            response = response.header(header, "1");
        }
        std::future::ready(Ok(response.body(Script::default()).unwrap()))
    }
}

async fn unserved(groups: Groups, request: Request<Empty<Bytes>>) -> Unserved {
    let connect = answering(StatusCode::OK, None);
    match GroupBalance::new(groups, connect).oneshot(request).await {
        Err(Error::Unserved(unserved)) => unserved,
        other => panic!("expected an error of the balancer, got {other:?}"),
    }
}

#[tokio::test]
async fn a_request_goes_to_an_endpoint_of_its_group() {
    let groups = groups(&[("a", 1), ("b", 1)]);
    let connect = |endpoint: &Arc<Endpoint>| {
        let port = endpoint.address().port();
        service_fn(move |_: Request<ReplayBody<Empty<Bytes>>>| async move {
            let response = Response::builder().header("x-port", port);
            Ok::<_, Infallible>(response.body(Script::default()).unwrap())
        })
    };
    let balance = GroupBalance::new(groups, connect);
    for (group, port) in [("a", 7000), ("b", 7001)] {
        let response = balance.clone().oneshot(pinned(group)).await.unwrap();
        assert_eq!(response.headers()["x-port"], port.to_string());
    }
}

#[tokio::test]
async fn a_group_without_endpoints_is_an_error_at_once() {
    let groups = groups(&[("b", 1)]);
    for group in ["a", "c"] {
        let missing = Unserved::NoReadyEndpoint(name(group));
        assert_eq!(unserved(groups.clone(), pinned(group)).await, missing);
        groups.update(&name("c"), []);
    }
}

#[tokio::test]
async fn a_request_without_a_decision_is_an_error() {
    let request = Request::new(Empty::new());
    assert_eq!(
        unserved(groups(&[("a", 1)]), request).await,
        Unserved::NoDecision
    );
}

#[tokio::test]
async fn the_endpoints_service_is_asked_whether_it_is_ready() {
    let groups = groups(&[("a", 1)]);
    let (service, mut endpoint) =
        mock::pair::<Request<ReplayBody<Empty<Bytes>>>, Response<Script>>();
    let connect = move |_: &Arc<Endpoint>| service.clone();
    let mut balance = GroupBalance::new(groups.clone(), connect);
    endpoint.allow(0);
    assert!(
        balance.ready().await.is_ok(),
        "the leaf itself is always ready"
    );
    let mut answer = tokio_test::task::spawn(balance.call(pinned("a")));
    assert!(answer.poll().is_pending());
    assert_eq!(
        groups.in_flight(&name("a")),
        1,
        "a waiting request has its place"
    );
    endpoint.allow(1);
    assert!(answer.is_woken());
    assert!(answer.poll().is_pending());
    let (_, send) = endpoint.next_request().await.unwrap();
    send.send_error("gone");
    match answer.await {
        Err(error @ Error::Endpoint(_)) => {
            assert_eq!(error.source().unwrap().to_string(), "gone");
        }
        other => panic!("expected the endpoint's error, got {other:?}"),
    }
    assert_eq!(groups.in_flight(&name("a")), 0);
}

#[tokio::test]
async fn a_marked_421_is_the_wrong_group_and_is_counted() {
    let groups = groups(&[("a", 1)]);
    let metrics = Metrics::new();
    let connect = answering(
        StatusCode::MISDIRECTED_REQUEST,
        Some("affinity-misdirected"),
    );
    let balance = GroupBalance::new(groups.clone(), connect).recorder(metrics.recorder.clone());
    match balance.oneshot(pinned("a")).await {
        Err(Error::Unserved(unserved)) => assert_eq!(unserved, Unserved::WrongGroup(name("a"))),
        other => panic!("expected the wrong group, got {other:?}"),
    }
    assert_eq!(metrics.take()["affinity_wrong_group_total{group=a}"], 1.0);
    assert_eq!(groups.in_flight(&name("a")), 0);
}

#[tokio::test]
async fn a_421_of_the_application_passes() {
    for (status, header) in [
        (StatusCode::MISDIRECTED_REQUEST, None),
        (StatusCode::OK, Some("affinity-misdirected")),
    ] {
        let balance = GroupBalance::new(groups(&[("a", 1)]), answering(status, header));
        assert_eq!(balance.oneshot(pinned("a")).await.unwrap().status(), status);
    }
}

#[tokio::test]
async fn pools_that_stay_on_their_thread_fit() {
    let groups = groups(&[("a", 1)]);
    let pool = Rc::new(std::cell::Cell::new(0));
    let shared = Rc::clone(&pool);
    let connect = move |_: &Arc<Endpoint>| {
        let pool = Rc::clone(&shared);
        service_fn(move |_: Request<ReplayBody<Empty<Bytes>>>| {
            pool.set(pool.get() + 1);
            std::future::ready(Ok::<_, Infallible>(Response::new(Script::default())))
        })
    };
    let balance = GroupBalance::new(groups, connect);
    balance.clone().oneshot(pinned("a")).await.unwrap();
    balance.oneshot(pinned("a")).await.unwrap();
    assert_eq!(pool.get(), 2);
}

#[test]
fn the_leaf_crosses_threads_with_what_connects() {
    fn crosses<T: Send + Sync>(_: T) {}
    let groups = groups(&[("a", 1)]);
    crosses(GroupBalance::new(groups, |endpoint: &Arc<Endpoint>| {
        assert_eq!(endpoint.address(), address(0));
    }));
}
