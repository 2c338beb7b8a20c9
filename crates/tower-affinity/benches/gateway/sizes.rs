//! Gateways of any size, over endpoints that answer at once.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use http::header::SET_COOKIE;
use http::{Request, Response};
use http_body::Body;
use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, SharedString, Unit};
use tower_affinity::balance::{GroupBalance, Groups};
use tower_affinity::core::{Clock, GroupName, NewGroup, Revision, Rollout, Weight};
use tower_affinity::record::Recorder;
use tower_affinity::{Affinity, AffinityLayer, GatewayLayer, GatewayService, Keyring, SystemClock};
use tower_layer::Layer;
use tower_service::Service;

use super::fixture::{SECRET, SERVICE};
use super::stack::{Connect, Pod, asked, read};

/// The gateway's layers around the balancer.
pub(crate) type Gateway = GatewayService<GroupBalance<Connect>>;

/// A gateway to `groups` groups of `endpoints` endpoints each. All new sessions go to the last one.
pub(crate) fn gateway(groups: u32, endpoints: u32) -> Gateway {
    let table = Groups::default();
    let mut active = Vec::new();
    for nth in 0..groups {
        let name: GroupName = format!("{:07x}", 0x009f_1c2a + nth * 0x0010_0001)
            .parse()
            .unwrap();
        table.update(&name, (0..endpoints).map(|e| address(nth * endpoints + e)));
        let is_last = nth + 1 == groups;
        let weight = if is_last { Weight::MAX } else { Weight::ZERO };
        let group = NewGroup::active(name, weight);
        active.push(if nth == 0 { group.stable() } else { group });
    }
    let now = SystemClock::new().now();
    let rollout = Rollout::new(Revision(now.as_secs()), now, active).unwrap();
    let recorder = Recorder::new(Arc::new(Plain));
    let affinity = AffinityLayer::builder()
        .keyring(Keyring::parse(&format!("2026-11:{SECRET}")).unwrap())
        .service(SERVICE)
        .rollout(rollout)
        .readiness(table.clone())
        .recorder(recorder.clone())
        .build()
        .unwrap();
    let connect: Connect = |_| Pod;
    GatewayLayer::new(affinity).layer(GroupBalance::new(table, connect).recorder(recorder))
}

fn address(nth: u32) -> SocketAddr {
    let [_, _, high, low] = (nth + 1).to_be_bytes();
    SocketAddr::from(([10, 0, high, low], 8080))
}

/// Calls a service that never waits, and reads its answer to the end.
pub(crate) fn serve<S, B, R>(service: &mut S, request: Request<B>) -> http::response::Parts
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
    R: Body,
{
    let future = pin!(service.call(request));
    let Poll::Ready(Ok(response)) = future.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the service waits for something");
    };
    let (head, body) = response.into_parts();
    read(Response::new(body));
    head
}

/// The token of a session that begins now.
pub(crate) fn token(gateway: &mut Gateway) -> String {
    let head = serve(gateway, asked(None));
    let affinity: &Affinity = head.extensions.get().unwrap();
    assert_eq!(
        affinity.decision().kind,
        tower_affinity::core::Kind::Assigned
    );
    let set = head.headers[SET_COOKIE].to_str().unwrap();
    let pair = set.split(';').next().unwrap();
    pair.split_once('=').unwrap().1.to_owned()
}

/// A recorder that keeps numbers and nothing else.
struct Plain;

impl metrics::Recorder for Plain {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(AtomicU64::new(0)))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::new(AtomicU64::new(0)))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(Sum::default()))
    }
}

/// How many values there were, and their sum in microseconds.
#[derive(Default)]
struct Sum(AtomicU64, AtomicU64);

impl HistogramFn for Sum {
    fn record(&self, value: f64) {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.fetch_add((value * 1e6) as u64, Ordering::Relaxed);
    }
}
