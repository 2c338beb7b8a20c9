//! A service that decides by itself and believes a gateway as well.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_affinity_testing::rollout;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::support::{GATEWAY, gateways, pinned, request};
use crate::{AffinityLayer, FromGatewayLayer, Keyring};

/// Whether the layer of this module speaks: the others tell of their own place as well.
struct Ours(bool);

impl Visit for Ours {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 |= field.name() == "layer" && value == "FromGatewayLayer";
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

/// Counts the warnings of the layer.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut ours = Ours(false);
        event.record(&mut ours);
        self.0.fetch_add(usize::from(ours.0), Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn affinity() -> AffinityLayer {
    let keyring = Keyring::ephemeral().unwrap();
    let builder = AffinityLayer::builder().keyring(keyring);
    let builder = builder.service("checkout").rollout(rollout(1, &[("a", 1)]));
    builder.build().unwrap()
}

/// How many warnings are logged after each of three requests.
///
/// It is looked at twice: a place that warns, and that another test has met for the first time just
/// before, may not know yet that this one listens.
async fn warnings<S>(service: impl Fn() -> S) -> Vec<usize>
where
    S: Service<Request<()>, Response = Response<Full<Bytes>>, Error = Infallible>,
{
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    after_each(service(), &warnings).await;
    tracing::callsite::rebuild_interest_cache();
    warnings.0.store(0, Ordering::Relaxed);
    after_each(service(), &warnings).await
}

async fn after_each<S>(mut service: S, warnings: &Warnings) -> Vec<usize>
where
    S: Service<Request<()>, Response = Response<Full<Bytes>>, Error = Infallible>,
{
    let mut seen = Vec::new();
    for headers in [vec![], pinned(), vec![]] {
        let request = request(Some(GATEWAY), &headers);
        let answer = service.ready().await.unwrap().call(request).await;
        assert_eq!(answer.unwrap().status(), 200, "no request fails for it");
        seen.push(warnings.0.load(Ordering::Relaxed));
    }
    seen
}

fn application()
-> impl Service<Request<()>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send> + Clone
{
    service_fn(|_: Request<()>| std::future::ready(Ok(Response::new(Full::default()))))
}

#[tokio::test]
async fn a_service_with_both_layers_is_noticed_at_its_first_request_and_told_once() {
    let believing = || FromGatewayLayer::new(gateways());
    let inside = || believing().layer(affinity().layer(application()));
    assert_eq!(warnings(inside).await, [1, 1, 1], "AffinityLayer inside");
    let outside = || affinity().layer(believing().layer(application()));
    assert_eq!(warnings(outside).await, [1, 1, 1], "AffinityLayer outside");
}

#[tokio::test]
async fn a_service_with_one_of_them_is_right() {
    let believing = || FromGatewayLayer::new(gateways()).layer(application());
    assert_eq!(warnings(believing).await, [0, 0, 0]);
    assert_eq!(
        warnings(|| affinity().layer(application())).await,
        [0, 0, 0]
    );
}
