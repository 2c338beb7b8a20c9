//! The context as that of the task that answers.

use std::convert::Infallible;

use http::{HeaderMap, Request, Response};
use tower::{Layer, ServiceExt, service_fn};

use super::PARENT;
use crate::propagate::{PropagateLayer, PropagateScopeLayer, Propagation};
use crate::record::Recorder;

/// A handler that calls another service without being told of any context, and answers with what
/// that has got.
async fn handler(_: Request<()>) -> Result<Response<HeaderMap>, Infallible> {
    let other = service_fn(|request: Request<()>| async move {
        Ok::<_, Infallible>(Response::new(request.headers().clone()))
    });
    let request = Request::get("http://price/").body(()).unwrap();
    PropagateLayer::new().layer(other).oneshot(request).await
}

fn request() -> Request<()> {
    let request = Request::get("/").header("affinity-pin", "a.b.c");
    request.header("traceparent", PARENT).body(()).unwrap()
}

#[tokio::test]
async fn a_client_finds_the_context_of_the_task() {
    let service = PropagateScopeLayer::new().layer(service_fn(handler));
    let mut request = request();
    let context = Propagation::from_headers(request.headers(), &Recorder::default());
    request.extensions_mut().insert(context);
    let got = service.oneshot(request).await.unwrap().into_body();
    assert_eq!(got["affinity-pin"], "a.b.c");
    assert_eq!(got["traceparent"], PARENT);
    assert!(Propagation::current().is_none(), "the scope has ended");
}

#[tokio::test]
async fn headers_of_a_request_without_a_context_are_not_believed() {
    let service = PropagateScopeLayer::new().layer(service_fn(handler));
    let got = service.oneshot(request()).await.unwrap().into_body();
    assert!(got.is_empty(), "{got:?}");
}

#[tokio::test]
async fn a_spawned_task_has_no_context_unless_it_is_given_one() {
    let headers = request().headers().clone();
    let context = Propagation::from_headers(&headers, &Recorder::default());
    let seen = context.clone().scope(async move {
        let lost = tokio::spawn(async { Propagation::current().is_some() });
        let given = tokio::spawn(context.scope(async { Propagation::current().is_some() }));
        (lost.await.unwrap(), given.await.unwrap())
    });
    assert_eq!(seen.await, (false, true));
}

#[tokio::test]
async fn what_is_spawned_needs_no_scope_if_the_request_has_the_context() {
    let context = Propagation::from_headers(request().headers(), &Recorder::default());
    let mut request = Request::get("http://price/").body(()).unwrap();
    request.extensions_mut().insert(context);
    let other = service_fn(|request: Request<()>| async move {
        Ok::<_, Infallible>(Response::new(request.headers().clone()))
    });
    let client = PropagateLayer::new().layer(other);
    let got = tokio::spawn(client.oneshot(request)).await.unwrap();
    assert_eq!(got.unwrap().into_body()["affinity-pin"], "a.b.c");
}
