//! A service behind the layer, and what it got.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderValue, Request, Response};
use tower::{Layer, ServiceExt, service_fn};

use crate::fixtures::Metrics;
use crate::{Affinity, Arms, FromGatewayLayer, PeerAddr, Propagation, Trust};

pub(super) const SESSION: &str = "AAAAAAAAAAAAAAAAAAAAKg";
pub(super) const GATEWAY: &str = "10.0.7.3:4711";

/// What the service got, what went back, and what was counted.
pub(super) struct Seen {
    pub(super) affinity: Option<Affinity>,
    pub(super) arms: Option<Arms>,
    pub(super) headers: HeaderMap,
    /// Whether the pin goes on to services further down.
    pub(super) propagates: bool,
    pub(super) answer: Response<()>,
    pub(super) counted: Vec<String>,
}

pub(super) fn gateways() -> Trust {
    Trust::Peers(vec!["10.0.7.0/24".parse().unwrap()])
}

/// What a gateway says of a pinned session.
pub(super) fn pinned() -> Vec<(&'static str, &'static str)> {
    vec![
        ("affinity-group", "9f1c2ab"),
        ("affinity-session", SESSION),
        ("affinity-decision", "pinned; cause=ok"),
    ]
}

pub(super) fn request(peer: Option<&str>, headers: &[(&'static str, &str)]) -> Request<()> {
    let mut request = Request::new(());
    if let Some(peer) = peer {
        let peer = PeerAddr(peer.parse().unwrap());
        request.extensions_mut().insert(peer);
    }
    for (name, value) in headers {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        request.headers_mut().append(*name, value);
    }
    request
}

pub(super) async fn send(layer: FromGatewayLayer, request: Request<()>) -> Seen {
    answered(layer, request, Response::new(())).await
}

pub(super) async fn answered(
    layer: FromGatewayLayer,
    request: Request<()>,
    answer: Response<()>,
) -> Seen {
    let metrics = Metrics::new();
    let got = Arc::new(Mutex::new(None));
    let answer = Mutex::new(Some(answer));
    let service = service_fn(|request: Request<()>| {
        let affinity = request.extensions().get::<Affinity>().cloned();
        let context = request.extensions().get::<Propagation>();
        let propagates = context.is_some_and(Propagation::has_pin);
        let arms = request.extensions().get::<Arms>().cloned();
        *got.lock().unwrap() = Some((affinity, arms, request.headers().clone(), propagates));
        let answer = answer.lock().unwrap().take().unwrap();
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let layer = layer.recorder(metrics.recorder.clone());
    let answer = layer.layer(service).oneshot(request).await.unwrap();
    let (affinity, arms, headers, propagates) = got.lock().unwrap().take().unwrap();
    Seen {
        affinity,
        arms,
        headers,
        propagates,
        answer,
        counted: metrics.take().into_keys().collect(),
    }
}

/// The request is one from nobody, and it is counted why.
pub(super) fn assert_nobody(seen: &Seen, cause: &str, row: &str) {
    assert!(seen.affinity.is_none(), "{row}: there is an Affinity");
    assert!(seen.arms.is_none(), "{row}: there are arms");
    assert!(!seen.propagates, "{row}: the pin goes on");
    let ours: Vec<_> = seen
        .headers
        .keys()
        .filter(|n| crate::tag::is_ours(n))
        .collect();
    assert!(ours.is_empty(), "{row}: {ours:?} is left");
    let series = format!("affinity_told_rejected_total{{cause={cause}}}");
    assert_eq!(seen.counted, [series], "{row}");
}
