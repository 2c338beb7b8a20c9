//! Layers that stand around affinity.

use std::io::Read;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_ENCODING, COOKIE, HeaderName, SET_COOKIE};
use http::{Request, Response};
use http_body_util::BodyExt;
use tower::buffer::Buffer;
use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_affinity::{Affinity, RespondLayer};
use tower_http::compression::CompressionLayer;
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;
use tower_http::trace::{DefaultMakeSpan, DefaultOnResponse, TraceLayer};
use tracing::Level;

use super::of_tower;
use crate::support::{Body, COOKIE_NAME, Site, ask, at_once, heard, texts};

/// An application that never answers.
fn mute() -> impl Service<
    Request<Body>,
    Response = Response<Body>,
    Error = std::convert::Infallible,
    Future = impl Send,
> + Clone
+ Send {
    service_fn(|_| std::future::pending())
}

#[tokio::test]
async fn under_a_buffer_sessions_stay_move_once_and_begin() {
    let site = Site::new();
    let buffered = Buffer::new(site.layer.layer(site.app.clone()), 4);
    let send = async |request: Request<Body>| buffered.clone().oneshot(request).await.unwrap();
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    let pinned = || ask("GET", "/", &[("cookie", &cookie)]);

    let answer = send(pinned()).await;
    let affinity: &Affinity = answer.extensions().get().expect("it was decided");
    assert_eq!(affinity.group(), "B");
    assert!(!answer.headers().contains_key(SET_COOKIE));
    site.abort("B");
    let answer = send(pinned()).await;
    assert_eq!(answer.extensions().get::<Affinity>().unwrap().group(), "A");
    assert_eq!(texts(answer.headers(), "set-cookie").len(), 1);
    let answer = send(ask("GET", "/", &[])).await;
    assert_eq!(texts(answer.headers(), "set-cookie").len(), 1);
}

#[tokio::test]
async fn a_request_that_is_shed_outside_of_affinity_was_never_decided() {
    let site = Site::new();
    let mut stack = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .layer(site.layer.clone())
        .service(mute());
    let _first = stack.ready().await.unwrap().call(ask("GET", "/", &[]));
    let shed = stack
        .ready()
        .await
        .unwrap()
        .call(ask("GET", "/", &[]))
        .await;
    assert!(
        shed.unwrap_err().is::<Overloaded>(),
        "the error is tower's own"
    );

    // the same with answers in the place of errors: ours, so without a pin
    let mut stack = ServiceBuilder::new()
        .layer(RespondLayer::new().problems(of_tower))
        .load_shed()
        .concurrency_limit(1)
        .layer(site.layer.clone())
        .service(mute());
    let _first = stack.ready().await.unwrap().call(ask("GET", "/", &[]));
    let answer = stack
        .ready()
        .await
        .unwrap()
        .call(ask("GET", "/", &[]))
        .await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 503);
    assert!(!answer.headers().contains_key(SET_COOKIE));
    assert!(answer.extensions().get::<Affinity>().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_outside_of_affinity_is_an_error_of_its_own_and_leaves_no_pin() {
    let site = Site::new();
    let stack = ServiceBuilder::new()
        .timeout(Duration::from_secs(1))
        .layer(site.layer.clone())
        .service(mute());
    let failed = stack.oneshot(ask("GET", "/", &[])).await.unwrap_err();
    assert!(failed.is::<Elapsed>(), "{failed}");
}

#[test]
fn compression_around_affinity_leaves_the_pin_and_what_caches_are_told() {
    let site = Site::new();
    let long = "the same words again and again, ".repeat(64);
    let body = long.clone();
    site.app
        .answers(move |_| Response::new(Body::from(body.clone())));
    let stack = CompressionLayer::new()
        .gzip(true)
        .layer(site.layer.layer(site.app.clone()));
    let request = ask("GET", "/", &[("accept-encoding", "gzip")]);
    let answer = at_once(stack.oneshot(request)).unwrap();
    assert_eq!(answer.headers()[CONTENT_ENCODING], "gzip");
    assert_eq!(answer.headers()[CACHE_CONTROL], "private");
    assert_eq!(texts(answer.headers(), "set-cookie").len(), 1);
    let packed = at_once(answer.into_body().collect()).unwrap().to_bytes();
    assert!(packed.len() < long.len() / 4);
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut unpacked)
        .expect("it is whole");
    assert_eq!(unpacked, long);
}

#[test]
fn a_trace_that_logs_all_headers_around_affinity_has_no_pin() {
    let site = Site::new();
    let token = site.token("B");
    let headers = [COOKIE, HeaderName::from_static("affinity-pin")];
    let stack = ServiceBuilder::new()
        // what the client sends is for the application to hide; what we send is hidden by us
        .layer(SetSensitiveRequestHeadersLayer::new(headers))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(DefaultMakeSpan::new().level(Level::INFO).include_headers(true))
                .on_response(DefaultOnResponse::new().level(Level::INFO).include_headers(true)),
        )
        .layer(site.layer.clone())
        .service(site.app.clone());
    let cookie = format!("{COOKIE_NAME}={token}");
    site.abort("B");
    let (issued, said) = heard(|_| {
        let mut issued = Vec::new();
        for headers in [
            vec![("cookie", &*cookie)],
            vec![("affinity-pin", &*token)],
            vec![],
        ] {
            let answer = at_once(stack.clone().oneshot(ask("GET", "/", &headers))).unwrap();
            let values = texts(answer.headers(), "set-cookie").into_iter();
            let values = values.chain(texts(answer.headers(), "affinity-pin"));
            issued.extend(values.map(str::to_owned));
        }
        issued
    });
    assert_eq!(issued.len(), 3, "each of them gets a pin: {issued:?}");
    assert!(said.contains("cookie"), "the headers are traced: {said}");
    for secret in issued.iter().chain([&token]) {
        let value = secret.split(';').next().unwrap();
        let value = value
            .strip_prefix(&format!("{COOKIE_NAME}="))
            .unwrap_or(value);
        assert!(!said.contains(value), "a pin was traced");
    }
}
