//! What becomes of bodies, with a clock that stands still.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use tower::{Layer, Service, service_fn};
use tower_affinity::Problem;

use super::{BodyLimits, Bounded, IntakeLayer};

type Piece = (u64, &'static str);
const PATIENCE: Duration = Duration::from_secs(30);

fn limits() -> BodyLimits {
    BodyLimits {
        most: 10,
        scopes: vec![("/large/*".parse().unwrap(), 20)],
        patience: PATIENCE,
        told: Arc::new(|_| {}),
    }
}

/// A body whose pieces come after pauses of so many seconds.
fn pieces(
    pieces: &'static [Piece],
) -> impl http_body::Body<Data = Bytes, Error = Infallible> + Unpin {
    let stream = futures_util::stream::unfold(pieces.iter(), |mut rest| async move {
        let (pause, text) = rest.next()?;
        tokio::time::sleep(Duration::from_secs(*pause)).await;
        Some((Ok(Frame::data(Bytes::from_static(text.as_bytes()))), rest))
    });
    StreamBody::new(Box::pin(stream))
}

/// What the client is answered, and how often a refusal was told.
async fn answered<B>(path: &str, body: B) -> (StatusCode, u64)
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let told = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&told);
    let layer = IntakeLayer::new(limits(), move |_: StatusCode| {
        counts.fetch_add(1, Ordering::Relaxed);
    });
    let mut service = layer.layer(service_fn(|request: Request<Bounded<B>>| async {
        Ok::<Response<Full<Bytes>>, Infallible>(match request.into_body().collect().await {
            Ok(_) => Response::default(),
            Err(_) => Problem::BadRequest.response("broken"),
        })
    }));
    let request = Request::post(path).body(body).unwrap();
    let answer = service.call(request).await.unwrap();
    (answer.status(), told.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_body_within_its_limits_passes() {
    let ok = (StatusCode::OK, 0);
    assert_eq!(answered("/", Full::from("0123456789")).await, ok);
    assert_eq!(
        answered("/", pieces(&[(29, "01234"), (29, "56789")])).await,
        ok
    );
    assert_eq!(answered("/large/x", Full::from("0123456789a")).await, ok);
    assert_eq!(answered("/", Full::from("")).await, ok);
}

#[tokio::test(start_paused = true)]
async fn a_length_that_is_too_long_is_refused_and_told() {
    let refused = (StatusCode::PAYLOAD_TOO_LARGE, 1);
    assert_eq!(answered("/", Full::from("0123456789a")).await, refused);
    let long = Full::from("0123456789abcdefghijk");
    assert_eq!(answered("/large/x", long).await, refused);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_turns_out_too_long_breaks() {
    let body = pieces(&[(1, "01234"), (1, "56789"), (1, "a")]);
    let broken = (StatusCode::PAYLOAD_TOO_LARGE, 0);
    assert_eq!(answered("/", body).await, broken);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_too_long_breaks_the_body() {
    let late = (StatusCode::REQUEST_TIMEOUT, 0);
    assert_eq!(answered("/", pieces(&[(31, "0")])).await, late);
    assert_eq!(answered("/", pieces(&[(1, "0"), (31, "1")])).await, late);
}

#[tokio::test(start_paused = true)]
async fn empty_pieces_are_no_progress() {
    let body = pieces(&[(20, ""), (20, ""), (20, "0")]);
    assert_eq!(answered("/", body).await.0, StatusCode::REQUEST_TIMEOUT);
}
