//! What counting costs a pinned request.

use std::convert::Infallible;
use std::future::Ready;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};

use allocation_counter::measure;
use http::{Request, Response};
use http_body_util::Empty;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, SharedString, Unit};
use tower::{Layer, Service};

use crate::fixtures::pinned;
use crate::record::{GroupMetrics, GroupMetricsLayer, Recorder};

/// A recorder that keeps numbers and nothing else.
#[derive(Default)]
struct Plain(Arc<AtomicU64>);

impl metrics::Recorder for Plain {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::clone(&self.0))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::clone(&self.0))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(Last(AtomicU64::new(0))))
    }
}

struct Last(AtomicU64);

impl metrics::HistogramFn for Last {
    fn record(&self, value: f64) {
        let bits = value.to_bits();
        self.0.store(bits, std::sync::atomic::Ordering::Relaxed);
    }
}

#[derive(Clone, Copy)]
struct Instant;

impl Service<Request<()>> for Instant {
    type Response = Response<Empty<bytes::Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        std::future::ready(Ok(Response::new(Empty::new())))
    }
}

fn counted() -> GroupMetrics<Instant> {
    let recorder = Recorder::new(Arc::new(Plain::default()));
    GroupMetricsLayer::new().recorder(recorder).layer(Instant)
}

/// Serves one request, with everything that is done for it until its answer is gone.
fn serve<S>(service: &mut S, request: Request<()>)
where
    S: Service<Request<()>>,
    S::Future: Unpin,
{
    let mut answer = service.call(request);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::Pin::new(&mut answer).poll(&mut cx).is_ready());
}

#[test]
fn a_pinned_request_is_counted_without_an_allocation() {
    let mut service = counted();
    // the handles are made with the first request
    serve(&mut service, pinned("a"));
    let request = pinned("a");
    let made = measure(|| serve(&mut service, request)).count_total;
    assert_eq!(made, 0, "counting allocates");
}
