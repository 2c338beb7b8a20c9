//! What goes to whom, and what comes back.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use tower::{Layer, ServiceExt, service_fn};

use super::PARENT;
use crate::propagate::{PropagateLayer, Propagation};
use crate::record::Recorder;

fn context() -> Propagation {
    let mut headers = HeaderMap::new();
    headers.insert("affinity-pin", "a.b.c".parse().unwrap());
    headers.insert("traceparent", PARENT.parse().unwrap());
    headers.insert("tracestate", "a=1".parse().unwrap());
    headers.insert("baggage", "k=v".parse().unwrap());
    Propagation::from_headers(&headers, &Recorder::default())
}

/// What the other service gets of a request, and our side of its answer.
async fn exchange(layer: &PropagateLayer, request: Request<()>) -> (HeaderMap, HeaderMap) {
    let got = Arc::new(Mutex::new(HeaderMap::new()));
    let other = service_fn(|request: Request<()>| {
        *got.lock().unwrap() = request.headers().clone();
        let response = Response::builder()
            .header("affinity-pin", "theirs")
            .header("set-cookie", "a=1")
            .body(());
        std::future::ready(Ok::<_, Infallible>(response.unwrap()))
    });
    let response = layer.layer(other).oneshot(request).await.unwrap();
    let got = got.lock().unwrap().clone();
    (got, response.headers().clone())
}

fn to(uri: &str) -> Request<()> {
    let mut request = Request::get(uri).body(()).unwrap();
    request.extensions_mut().insert(context());
    request
}

#[tokio::test]
async fn the_context_of_a_request_goes_along_and_their_pin_does_not_come_back() {
    let (got, back) = exchange(&PropagateLayer::new(), to("http://price/")).await;
    assert_eq!(got["affinity-pin"], "a.b.c");
    assert_eq!(got["traceparent"], PARENT);
    assert_eq!(got["tracestate"], "a=1");
    assert_eq!(got["baggage"], "k=v");
    assert_eq!(back.get("affinity-pin"), None);
    assert_eq!(back["set-cookie"], "a=1");
    let without = Request::get("http://price/").body(()).unwrap();
    let (got, _) = exchange(&PropagateLayer::new(), without).await;
    assert!(got.is_empty(), "{got:?}");
}

#[tokio::test]
async fn what_the_client_has_set_itself_stays() {
    let mut request = to("http://price/");
    let theirs = "00-11111111111111111111111111111111-2222222222222222-00";
    let headers = request.headers_mut();
    headers.insert("traceparent", theirs.parse().unwrap());
    headers.insert("baggage", "own=1".parse().unwrap());
    headers.insert("affinity-pin", "x.y.z".parse().unwrap());
    let (got, _) = exchange(&PropagateLayer::new(), request).await;
    assert_eq!(got["traceparent"], theirs);
    assert_eq!(got.get("tracestate"), None, "a state is that of its parent");
    assert_eq!(got["baggage"], "own=1");
    let pins: Vec<_> = got.get_all("affinity-pin").iter().collect();
    assert_eq!(pins, ["x.y.z", "a.b.c"]);
}

#[tokio::test]
async fn nothing_goes_to_a_destination_that_is_not_named() {
    let layer = PropagateLayer::new()
        .only_to(["price.internal", "[::1]:8080", "stock.internal:443"])
        .unwrap();
    for (uri, goes) in [
        ("http://price.internal/x", true),
        ("http://PRICE.internal:81/x", true),
        ("http://[::1]:8080/", true),
        ("https://stock.internal/", true),
        ("https://stock.internal:443/", true),
        ("http://stock.internal/", false),
        ("http://[::1]:8081/", false),
        ("http://price.internal.evil.example/", false),
        ("http://evil.example/price.internal", false),
        ("http://price.internal@evil.example/", false),
        ("/without-an-authority", false),
    ] {
        let (got, _) = exchange(&layer, to(uri)).await;
        assert_eq!(!got.is_empty(), goes, "{uri}");
    }
    let mut request = to("/path-only");
    let host = "price.internal:8080".parse().unwrap();
    request.headers_mut().insert("host", host);
    let (got, _) = exchange(&layer, request).await;
    assert_eq!(got["affinity-pin"], "a.b.c", "the host names it");
}

#[test]
fn a_destination_that_is_none_is_refused_at_once() {
    for bad in [
        "",
        "http://price/",
        "a b",
        "price:",
        "price:99999",
        "user@price",
        ":80",
    ] {
        let error = PropagateLayer::new().only_to([bad]).unwrap_err();
        assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
    }
}
