//! What is measured of a session that goes on to other services.

use std::sync::Arc;

use http::HeaderValue;
use metrics_util::debugging::DebuggingRecorder;
use tower_affinity::record::Recorder;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{AffinityLayer, Keyring, Propagation};
use tower_layer::Layer;

use super::fixture::{COOKIE_NAME, Instant, Layered, SECRET, SERVICE, call, request, rollouts};

/// The layer with a scope that propagates, around the service.
pub(crate) fn propagating() -> Layered {
    AffinityLayer::builder()
        .keyring(Keyring::parse(&format!("2026-11:{SECRET}")).unwrap())
        .service(SERVICE)
        .rollout(rollouts())
        .recorder(Recorder::new(Arc::new(DebuggingRecorder::new())))
        .scope(Scope::new(PathPattern::all()).propagate(true))
        .build()
        .unwrap()
        .layer(Instant)
}

/// What goes on with a session.
pub(crate) fn carried(service: &mut Layered, cookies: &HeaderValue) -> Propagation {
    let token = cookies.to_str().unwrap();
    let (_, token) = token.split_once(&format!("{COOKIE_NAME}=")).unwrap();
    let token = token.split(';').next().unwrap();
    let mut headers = http::HeaderMap::new();
    headers.insert("affinity-pin", token.parse().unwrap());
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    headers.insert("traceparent", HeaderValue::from_static(trace));
    assert_eq!(call(service, request(Some(cookies))).status(), 200);
    let session = Propagation::from_headers(&headers, &Recorder::default());
    assert!(session.has_pin());
    session
}
