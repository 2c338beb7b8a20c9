//! Facts about the answers that errors become.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::convert::Infallible;
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_affinity_testing::name;
use tower_test::mock;

use super::{RespondLayer, UpstreamFault};
use crate::balance::{Error, Unserved};
use crate::problem::Problem;
use crate::{BoxError, OwnAnswer};

type Answer = Response<Full<Bytes>>;

/// An error of a layer between, which tells an address.
#[derive(Debug, thiserror::Error)]
#[error("no answer from 10.1.2.3:7001")]
struct Between(#[source] BoxError);

async fn answer(error: impl Into<BoxError>) -> (u16, String) {
    let mut error = Some(error.into());
    let inner = service_fn(move |_: Request<()>| {
        std::future::ready(Err::<Answer, BoxError>(error.take().unwrap()))
    });
    let answer: Result<Answer, Infallible> = RespondLayer::new()
        .layer(inner)
        .oneshot(Request::new(()))
        .await;
    let answer = answer.unwrap();
    assert!(answer.extensions().get::<OwnAnswer>().is_some());
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let status = answer.status().as_u16();
    assert_eq!(answer.headers().contains_key("retry-after"), status == 503);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    assert!(!text.contains("10.1.2.3"), "an address was told: {text}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["status"], status);
    (status, json["type"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn each_error_has_its_answer() {
    let group = || name("a");
    let cases: [(BoxError, u16, &str); 11] = [
        (
            Unserved::NoReadyEndpoint(group()).into(),
            503,
            "no-ready-endpoint",
        ),
        (Unserved::Capacity(group()).into(), 503, "capacity"),
        (Unserved::WrongGroup(group()).into(), 503, "wrong-group"),
        (Unserved::NoDecision.into(), 500, "about:blank"),
        (UpstreamFault::Timeout.into(), 504, "upstream-timeout"),
        (UpstreamFault::Connect.into(), 502, "upstream-error"),
        (UpstreamFault::Unsent.into(), 502, "upstream-error"),
        (UpstreamFault::Closed.into(), 502, "upstream-error"),
        (UpstreamFault::Protocol.into(), 502, "upstream-error"),
        (UpstreamFault::Declined.into(), 502, "upstream-error"),
        (UpstreamFault::RequestBody.into(), 400, "bad-request"),
    ];
    for (error, status, kind) in cases {
        let text = error.to_string();
        assert_eq!(answer(error).await, (status, kind.to_owned()), "{text}");
    }
    assert_eq!(answer("anything else").await.0, 502);
}

#[tokio::test]
async fn our_error_is_found_behind_those_of_other_layers() {
    let unserved: Error = Unserved::Capacity(name("a")).into();
    let wrapped = Between(Box::new(Between(Box::new(unserved))));
    assert_eq!(answer(wrapped).await, (503, "capacity".to_owned()));
    let endpoint = Error::Endpoint(Between(Box::new(UpstreamFault::Timeout)).into());
    assert_eq!(answer(endpoint).await, (504, "upstream-timeout".to_owned()));
    let unknown = Between("10.1.2.3 refused".into());
    assert_eq!(answer(unknown).await, (502, "upstream-error".to_owned()));
}

#[tokio::test]
async fn a_readiness_error_becomes_the_answer_of_the_next_call() {
    let (inner, mut handle) = mock::pair::<Request<()>, Answer>();
    let mut respond = RespondLayer::new().layer(inner);
    handle.send_error(Unserved::Capacity(name("a")));
    let mut other = respond.clone();
    assert!(respond.ready().await.is_ok());
    let answered = respond.call(Request::new(())).await.unwrap();
    assert_eq!(answered.status(), 503);
    let mut next = tokio_test::task::spawn(handle.next_request());
    match next.poll() {
        Poll::Ready(Some(_)) => panic!("the service that is not ready was called"),
        Poll::Ready(None) | Poll::Pending => {}
    }
    drop(next);
    assert!(other.ready().await.is_ok(), "a clone asks for itself");
}

#[tokio::test]
async fn what_is_answered_passes_untouched() {
    let inner = service_fn(|_: Request<()>| async {
        Ok::<Answer, BoxError>(
            Response::builder()
                .status(503)
                .body(Full::default())
                .unwrap(),
        )
    });
    let answer = RespondLayer::new()
        .layer(inner)
        .oneshot(Request::new(()))
        .await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 503);
    assert!(answer.extensions().get::<OwnAnswer>().is_none());
}

#[test]
fn what_an_overload_refuses_does_not_come_back_at_once() {
    let answers = (0..200).map(|_| Problem::Capacity.response::<Full<Bytes>>("full"));
    let seconds = answers.map(|answer| answer.headers()["retry-after"].clone());
    let seconds: std::collections::HashSet<_> = seconds.collect();
    let expected = ["1", "2", "3"].map(http::HeaderValue::from_static);
    assert_eq!(seconds, expected.into());
}
