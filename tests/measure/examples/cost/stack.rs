//! The stack of a gateway of some size, and the requests of its sessions.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::{Empty, Full};
use metrics_util::debugging::DebuggingRecorder;
use tower::{Layer, Service};
use tower_affinity::balance::{Endpoint, GroupBalance, Groups};
use tower_affinity::core::{Clock, GroupName, NewGroup, Revision, Rollout, Weight};
use tower_affinity::record::Recorder;
use tower_affinity::{AffinityLayer, GatewayLayer, GatewayService, Keyring, SystemClock};

/// How much a gateway has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) groups: usize,
    /// Of all groups together.
    pub(crate) endpoints: usize,
    pub(crate) sessions: usize,
}

/// A gateway, and the cookies of all its sessions.
pub(crate) struct Stack {
    gateway: GatewayService<GroupBalance<Connect>>,
    cookies: Vec<HeaderValue>,
    next: usize,
}

type Connect = fn(&Arc<Endpoint>) -> Pod;

/// The distance from one session to the next in the order in which they ask: a prime, so that each comes
/// once in a turn.
const STRIDE: usize = 6_180_341;

impl Stack {
    pub(crate) fn new(size: &Size) -> Self {
        let mut stack = Self {
            gateway: gateway(size),
            cookies: Vec::new(),
            next: 0,
        };
        stack.cookies = (0..size.sessions).map(|_| stack.begin()).collect();
        stack
    }

    /// The next requests, ready to be sent.
    pub(crate) fn requests(&mut self, count: usize) -> Vec<Request<Empty<Bytes>>> {
        let requests = (0..count).map(|_| {
            self.next = (self.next + STRIDE) % self.cookies.len();
            request(Some(&self.cookies[self.next]))
        });
        requests.collect()
    }

    /// Serves requests, and reads their answers to the end.
    pub(crate) fn serve(&mut self, requests: Vec<Request<Empty<Bytes>>>) {
        for request in requests {
            let response = call(&mut self.gateway, request);
            assert!(
                !response.headers().contains_key(SET_COOKIE),
                "a pin did not count"
            );
            read(response);
        }
    }

    /// Begins a session; its cookie.
    fn begin(&mut self) -> HeaderValue {
        let response = call(&mut self.gateway, request(None));
        let cookie = response.headers()[SET_COOKIE].as_bytes();
        let end = cookie
            .iter()
            .position(|byte| *byte == b';')
            .unwrap_or(cookie.len());
        HeaderValue::from_bytes(&cookie[..end]).expect("a part of a field is one")
    }
}

/// A gateway whose endpoints and new sessions are spread evenly over its groups.
fn gateway(size: &Size) -> GatewayService<GroupBalance<Connect>> {
    let names = (0..size.groups).map(|nth| format!("c{nth:06x}").parse().expect("a name"));
    let names: Vec<GroupName> = names.collect();
    let (groups, each) = (Groups::default(), size.endpoints / size.groups);
    for (nth, name) in names.iter().enumerate() {
        let endpoints = (0..each).map(|endpoint| endpoint_at(nth * each + endpoint));
        groups.update(name, endpoints);
    }
    let weight = Weight::new(1).expect("a weight");
    let mut blocks: Vec<NewGroup> = names
        .into_iter()
        .map(|name| NewGroup::active(name, weight))
        .collect();
    if let Some(first) = blocks.pop() {
        blocks.push(first.stable());
    }
    let now = SystemClock::new().now();
    let rollout = Rollout::new(Revision(now.as_secs()), now, blocks).expect("a rollout");
    let recorder = Recorder::new(Arc::new(DebuggingRecorder::new()));
    let affinity = AffinityLayer::builder()
        .keyring(Keyring::ephemeral().expect("a key"))
        .service("checkout")
        .rollout(rollout)
        .readiness(groups.clone())
        .recorder(recorder.clone())
        .build()
        .expect("all that is required");
    let connect: Connect = |_| Pod;
    let leaf = GroupBalance::new(groups, connect).recorder(recorder);
    GatewayLayer::new(affinity).layer(leaf)
}

fn endpoint_at(nth: usize) -> SocketAddr {
    let host = u32::from(Ipv4Addr::new(10, 0, 0, 1)) + nth as u32;
    SocketAddr::from((Ipv4Addr::from(host), 8_080))
}

/// An endpoint that answers 1 KiB at once.
#[derive(Clone, Debug)]
struct Pod;

impl<B> Service<Request<B>> for Pod {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::new(Full::from(&[b'x'; 1_024][..]))))
    }
}

fn request(cookies: Option<&HeaderValue>) -> Request<Empty<Bytes>> {
    let mut request = Request::get("/step")
        .header("host", "shop.example")
        .header("accept", "*/*");
    if let Some(cookies) = cookies {
        request = request.header(COOKIE, cookies);
    }
    request.body(Empty::new()).expect("a request")
}

/// Calls a service that never waits.
fn call<S, B, R>(service: &mut S, request: Request<B>) -> Response<R>
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
{
    let future = pin!(service.call(request));
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(response)) => response,
        Poll::Pending => unreachable!("nothing in it waits"),
    }
}

fn read<B: Body>(response: Response<B>) {
    let mut body = pin!(response.into_body());
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
        drop(frame);
    }
}
