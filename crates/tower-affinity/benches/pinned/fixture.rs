//! What is measured: an instant service, the layer around it, and the requests that reach it.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};
use http::{HeaderValue, Request, Response};
use http_body_util::Empty;
use metrics_util::debugging::DebuggingRecorder;
use tower_affinity::balance::{BalanceBody, Endpoint, Groups, ReplayBody};
use tower_affinity::core::{Clock, NewGroup, Revision, Rollout, Weight};
use tower_affinity::record::Recorder;
use tower_affinity::{
    AffinityLayer, AffinityService, Keyring, PeerForwardLayer, PeerForwardService, Rollouts,
    SystemClock,
};
use tower_layer::Layer;
use tower_service::Service;

/// The secret of the one key, as a keyring reads it.
pub(crate) const SECRET: &str = "q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE";

/// The service that the pins are for.
pub(crate) const SERVICE: &str = "checkout";

pub(crate) const COOKIE_NAME: &str = "__Host-affinity-checkout";

/// The length of a cookie header in bytes.
const COOKIES: usize = 500;

/// A service that answers at once, with one header and nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Instant;

/// That service inside the layer.
pub(crate) type Layered = AffinityService<Instant>;

impl Service<Request<()>> for Instant {
    type Response = Response<Bytes>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Bytes>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let mut response = Response::new(Bytes::new());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        ready(Ok(response))
    }
}

/// The same for one whose answers can be a peer's.
impl Service<Request<Empty<Bytes>>> for Instant {
    type Response = Response<BalanceBody<Empty<Bytes>>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Empty<Bytes>>) -> Self::Future {
        let mut response = Response::new(BalanceBody::default());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        ready(Ok(response))
    }
}

/// The service of a process that is `c3d4e5f`.
pub(crate) type Serving = AffinityService<Instant>;

/// What would speak to a peer.
pub(crate) type Connect = fn(&Arc<Endpoint>) -> Peer;

/// No peer is asked where what is local is measured.
#[derive(Clone, Debug)]
pub(crate) struct Peer;

impl Service<Request<ReplayBody<Empty<Bytes>>>> for Peer {
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<ReplayBody<Empty<Bytes>>>) -> Self::Future {
        ready(Ok(Response::new(Empty::new())))
    }
}

/// A process of `c3d4e5f`, without its peers and with them.
pub(crate) fn processes() -> (Serving, PeerForwardService<Instant, Connect>) {
    let affinity = AffinityLayer::builder()
        .keyring(Keyring::parse(&format!("2026-11:{SECRET}")).unwrap())
        .service(SERVICE)
        .rollout(rollouts())
        .serving("c3d4e5f".parse().unwrap())
        .recorder(Recorder::new(Arc::new(DebuggingRecorder::new())))
        .build()
        .unwrap();
    let peers = Groups::default();
    peers.update(
        &"9f1c2ab".parse().unwrap(),
        ["127.0.0.1:7001".parse().unwrap()],
    );
    let connect: Connect = |_| Peer;
    let forwarding = PeerForwardLayer::new(affinity.clone(), peers, connect).unwrap();
    (affinity.layer(Instant), forwarding.layer(Instant))
}

/// A browser's request to a process.
pub(crate) fn asked(cookies: &HeaderValue) -> Request<Empty<Bytes>> {
    request(Some(cookies)).map(|()| Empty::new())
}

/// Two active groups; all new sessions go to `c3d4e5f`.
pub(crate) fn rollouts() -> Rollouts {
    rollouts_to("c3d4e5f")
}

/// Two active groups; all new sessions go to `drawn`.
pub(crate) fn rollouts_to(drawn: &str) -> Rollouts {
    let now = SystemClock::new().now();
    let weight = |name| {
        if name == drawn {
            Weight::MAX
        } else {
            Weight::ZERO
        }
    };
    let groups = [
        NewGroup::active("9f1c2ab".parse().unwrap(), weight("9f1c2ab")).stable(),
        NewGroup::active("c3d4e5f".parse().unwrap(), weight("c3d4e5f")),
    ];
    Rollout::new(Revision(now.as_secs()), now, groups)
        .unwrap()
        .into()
}

/// The layer over `rollouts` around the service.
pub(crate) fn with_layer(rollouts: Rollouts) -> Layered {
    AffinityLayer::builder()
        .keyring(Keyring::parse(&format!("2026-11:{SECRET}")).unwrap())
        .service(SERVICE)
        .rollout(rollouts)
        .recorder(Recorder::new(Arc::new(DebuggingRecorder::new())))
        .build()
        .unwrap()
        .layer(Instant)
}

/// Calls a service that never waits.
pub(crate) fn call<S, B, R>(service: &mut S, request: Request<B>) -> Response<R>
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
{
    let future = pin!(service.call(request));
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(response)) => response,
        Poll::Pending => panic!("the service waits for something"),
    }
}

/// The token of a session that begins now.
pub(crate) fn token(service: &mut Layered) -> String {
    let response = call(service, request(None));
    let set = response.headers()[SET_COOKIE].to_str().unwrap();
    let pair = set.split(';').next().unwrap();
    let (name, token) = pair.split_once('=').unwrap();
    assert_eq!(name, COOKIE_NAME);
    token.to_owned()
}

/// Ten cookies in 500 bytes, the ninth holds `token`.
pub(crate) fn cookies(token: &str) -> HeaderValue {
    let pin = format!("{COOKIE_NAME}={token}");
    // nine others and nine separators of two bytes share what is left
    let rest = COOKIES - pin.len() - 9 * 2;
    let others = (0..9).map(|nth| {
        let len = rest / 9 + usize::from(nth < rest % 9);
        format!("{nth:c<5}={:v<1$}", "", len - 6)
    });
    let mut pairs: Vec<String> = others.collect();
    pairs.insert(8, pin);
    let line = pairs.join("; ");
    assert_eq!((line.len(), pairs.len()), (COOKIES, 10));
    HeaderValue::from_str(&line).unwrap()
}

/// A browser's request.
pub(crate) fn request(cookies: Option<&HeaderValue>) -> Request<()> {
    let request = Request::get("/step")
        .header("host", "shop.example")
        .header(
            "user-agent",
            "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101",
        )
        .header("accept", "application/json")
        .header("accept-encoding", "gzip, br")
        .header("sec-fetch-site", "same-origin")
        .header("sec-fetch-mode", "cors");
    let request = match cookies {
        Some(cookies) => request.header(COOKIE, cookies),
        None => request,
    };
    request.body(()).unwrap()
}
