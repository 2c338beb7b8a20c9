//! What it costs to be able to send a request again.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use tower::Service;

use super::super::{Endpoint, GroupBalance, ReplayBody, Retries};
use super::{groups, pinned};

/// The head is cloned: the map of its fields in two pieces, and its extensions.
const MOST: u64 = 6;

#[derive(Clone)]
struct Instant;

impl<B> Service<Request<ReplayBody<B>>> for Instant {
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<ReplayBody<B>>) -> Self::Future {
        ready(Ok(Response::new(Empty::new())))
    }
}

/// How many allocations one request costs.
fn cost<B>(retries: Retries, body: impl Fn() -> B) -> u64
where
    B: http_body::Body<Data = Bytes>,
{
    let connect = |_: &Arc<Endpoint>| Instant;
    let mut balance = GroupBalance::new(groups(&[("a", 2)]), connect).retries(retries);
    let mut serve = || {
        let mut request = pinned("a").map(|_| body());
        for name in ["accept", "cookie", "host", "user-agent", "affinity-group"] {
            let value = http::HeaderValue::from_static("value");
            request.headers_mut().insert(name, value);
        }
        let cost = measure(|| {
            let mut answer = Box::pin(balance.call(request));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(matches!(answer.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
        });
        cost.count_total
    };
    // what is made once for each thread is not this request's
    serve();
    serve()
}

#[test]
fn being_able_to_send_a_request_again_costs_little_more_than_a_copy_of_its_head() {
    let without = cost(Retries::none(), Empty::new);
    let with = cost(Retries::default(), Empty::new);
    let added = with - without;
    assert!(added > 0, "nothing was counted");
    assert!(
        added <= MOST,
        "{added} allocations for a request without a body"
    );
    let body = cost(Retries::default(), || {
        Full::new(Bytes::from_static(b"body"))
    });
    assert_eq!(
        body - with,
        1,
        "a body that nobody reads is more than one allocation"
    );
}
