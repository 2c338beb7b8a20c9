//! The stack of a gateway, with endpoints that answer at once.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::{Empty, Full};
use metrics_util::debugging::DebuggingRecorder;
use tower_affinity::balance::{Endpoint, GroupBalance, Groups};
use tower_affinity::record::Recorder;
use tower_affinity::{AffinityLayer, GatewayLayer, GatewayService, Keyring, Rollouts};
use tower_layer::Layer;
use tower_service::Service;

use super::fixture::{SECRET, SERVICE, request};

/// What an endpoint's service is: it answers 1 KiB at once.
#[derive(Clone, Debug)]
pub(crate) struct Pod;

const ANSWER: &[u8] = &[b'x'; 1024];

impl<B> Service<Request<B>> for Pod {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let mut response = Response::new(Full::from(ANSWER));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        ready(Ok(response))
    }
}

/// What gives the service of an endpoint.
pub(crate) type Connect = fn(&Arc<Endpoint>) -> Pod;

/// A gateway of two groups with so many endpoints each.
pub(crate) fn gateway(rollouts: Rollouts, endpoints: u16) -> GatewayService<GroupBalance<Connect>> {
    let groups = Groups::default();
    for (name, network) in [("9f1c2ab", 1), ("c3d4e5f", 2)] {
        let endpoints = (0..endpoints).map(|nth| {
            let [high, low] = nth.to_be_bytes();
            ([10, network, high, low], 8080).into()
        });
        groups.update(&name.parse().unwrap(), endpoints);
    }
    let recorder = Recorder::new(Arc::new(DebuggingRecorder::new()));
    let affinity = AffinityLayer::builder()
        .keyring(Keyring::parse(&format!("2026-11:{SECRET}")).unwrap())
        .service(SERVICE)
        .rollout(rollouts.clone())
        .readiness(groups.clone())
        .recorder(recorder.clone())
        .build()
        .unwrap();
    let connect: Connect = |_| Pod;
    let leaf = GroupBalance::new(groups, connect)
        .recorder(recorder)
        .rollouts(rollouts);
    GatewayLayer::new(affinity).layer(leaf)
}

/// A browser's request, as a gateway gets it.
pub(crate) fn asked(cookies: Option<&HeaderValue>) -> Request<Empty<Bytes>> {
    request(cookies).map(|()| Empty::new())
}

/// Reads an answer to its end, as its client does.
pub(crate) fn read<B: Body>(response: Response<B>) {
    let mut body = pin!(response.into_body());
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match body.as_mut().poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(frame))) => drop(frame),
            Poll::Ready(None) => return,
            Poll::Ready(Some(Err(_))) => panic!("an answer breaks"),
            Poll::Pending => panic!("an answer waits for something"),
        }
    }
}
