//! Facts about requests that reach a process of another group.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity_testing::name;

use super::{GroupIdentityLayer, IdentityError};
use crate::fixtures::Metrics;

/// A body that must not be read.
struct Unread;

impl Body for Unread {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        panic!("the body was read");
    }
}

/// The answer to a request with those values of `affinity-group`, of an endpoint of `9f1c2ab`, and
/// how often its application was called.
async fn answer(
    layer: GroupIdentityLayer,
    groups: &[&'static [u8]],
) -> (Response<Full<Bytes>>, usize) {
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let application = service_fn(move |_: Request<Unread>| {
        called.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
    });
    let mut request = Request::new(Unread);
    for group in groups {
        let value = HeaderValue::from_bytes(group).unwrap();
        request.headers_mut().append("affinity-group", value);
    }
    let answer = layer.layer(application).oneshot(request).await.unwrap();
    (answer, calls.load(Ordering::Relaxed))
}

fn layer() -> GroupIdentityLayer {
    GroupIdentityLayer::new(name("9f1c2ab"))
}

#[tokio::test]
async fn a_request_for_this_group_or_for_whoever_is_here_reaches_the_application() {
    for groups in [&[][..], &[&b"9f1c2ab"[..]]] {
        let (answer, calls) = answer(layer(), groups).await;
        assert_eq!((answer.status(), calls), (StatusCode::OK, 1), "{groups:?}");
        assert!(!answer.headers().contains_key("affinity-misdirected"));
    }
}

#[tokio::test]
async fn a_request_for_another_group_does_not_reach_the_application() {
    let refused: [&[&[u8]]; 6] = [
        &[b"c3d4e5f"],
        &[b"9F1C2AB"],
        &[b""],
        &[b"9f1c2ab, c3d4e5f"],
        &[b"\xff\xfe"],
        &[b"9f1c2ab", b"9f1c2ab"],
    ];
    for groups in refused {
        let metrics = Metrics::new();
        let layer = layer().recorder(metrics.recorder.clone());
        let (answer, calls) = answer(layer, groups).await;
        assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST);
        assert_eq!(calls, 0, "the application was called for {groups:?}");
        let field = |name| answer.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!(field("affinity-misdirected"), "1");
        assert_eq!(field("content-type"), "application/problem+json");
        let refusals = metrics.take();
        let series = "affinity_misdirected_total{group=9f1c2ab}";
        assert_eq!(refusals.get(series), Some(&1.0), "{refusals:?}");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem.get("type").unwrap(), "wrong-group");
    }
}

#[tokio::test]
async fn a_stamped_name_is_the_name_of_the_process() {
    let layer = GroupIdentityLayer::stamped(Some("9f1c2ab")).unwrap();
    assert_eq!(answer(layer, &[b"c3d4e5f"]).await.1, 0);
    let missing = GroupIdentityLayer::stamped(None).unwrap_err();
    assert_eq!(missing, IdentityError::NotStamped);
}

#[test]
fn a_process_that_does_not_know_its_group_does_not_start() {
    let unset = GroupIdentityLayer::from_env("AFFINITY_NO_SUCH_VARIABLE").unwrap_err();
    let text = unset.to_string();
    assert!(text.contains("AFFINITY_NO_SUCH_VARIABLE"), "{text}");
    let wrong = GroupIdentityLayer::stamped(Some("not a name")).unwrap_err();
    assert!(matches!(wrong, IdentityError::Name(_)), "{wrong}");
}
