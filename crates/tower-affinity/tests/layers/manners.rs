//! The layers as tower services: readiness, errors, clones, types.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body_util::Full;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt};
use tower_affinity::signal::SignalService;
use tower_affinity::wire::PinService;
use tower_affinity::{AffinityLayer, AffinityService, AssignLayer, PinLayer, SignalLayer};
use tower_test::mock;

use crate::support::{App, Body, Site, ask, at_once};

type Inner = mock::Mock<Request<Body>, Response<Body>>;
type Handle = mock::Handle<Request<Body>, Response<Body>>;

/// The layer around a service that may fail and is ready when the test says so.
fn fallible() -> (AffinityService<Inner>, Handle) {
    let (inner, handle) = mock::pair();
    let site = Site::new();
    (
        ServiceBuilder::new().layer(site.layer).service(inner),
        handle,
    )
}

fn poll_ready(service: &mut AffinityService<Inner>) -> Poll<Result<(), BoxError>> {
    let mut task = tokio_test::task::spawn(());
    task.enter(|cx, _| Service::<Request<Body>>::poll_ready(service, cx))
}

#[test]
fn readiness_is_asked_of_the_very_service_that_is_called() {
    let (mut service, mut handle) = fallible();
    handle.allow(0);
    assert!(
        poll_ready(&mut service).is_pending(),
        "ready before the inner service"
    );
    handle.allow(1);
    assert!(poll_ready(&mut service).is_ready());
    // the inner service panics when it is called without having been ready itself
    let mut answer = tokio_test::task::spawn(service.call(ask("GET", "/x", &[])));
    let mut next = tokio_test::task::spawn(handle.next_request());
    tokio_test::assert_pending!(answer.poll());
    let (request, respond) = tokio_test::assert_ready!(next.poll()).unwrap();
    assert_eq!(request.uri().path(), "/x");
    respond.send_response(Response::new(Full::from("ok")));
    assert!(answer.is_woken());
    let response = tokio_test::assert_ready!(answer.poll()).unwrap();
    assert_eq!(response.status(), 200);
}

/// Answers only when this very instance was ready, which its clones are not.
struct Picky {
    ready: bool,
}

impl Clone for Picky {
    fn clone(&self) -> Self {
        Self { ready: false }
    }
}

impl Service<Request<Body>> for Picky {
    type Response = Response<Body>;
    type Error = &'static str;
    type Future = Ready<Result<Response<Body>, &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        let was_ready = std::mem::take(&mut self.ready);
        ready(was_ready.then(Response::default).ok_or("unready"))
    }
}

#[test]
fn a_clone_starts_unready_and_readiness_is_used_up_by_its_call() {
    let mut service = Site::new().layer.layer(Picky { ready: false });
    let call = |service: &mut AffinityService<Picky>| {
        let answer = at_once(service.call(ask("GET", "/", &[])));
        answer.map(|response| response.status().as_u16())
    };
    assert_eq!(
        call(&mut service),
        Err("unready"),
        "the layer made it ready unasked"
    );
    at_once(service.ready()).unwrap();
    let mut clone = service.clone();
    assert_eq!(
        call(&mut clone),
        Err("unready"),
        "a clone took over readiness"
    );
    assert_eq!(call(&mut service), Ok(200));
    assert_eq!(call(&mut service), Err("unready"));
    at_once(clone.ready()).unwrap();
    assert_eq!(call(&mut clone), Ok(200));
}

#[test]
fn errors_of_the_inner_service_pass_through() {
    let (mut service, mut handle) = fallible();
    assert!(poll_ready(&mut service).is_ready());
    let mut answer = tokio_test::task::spawn(service.call(ask("GET", "/", &[])));
    let mut next = tokio_test::task::spawn(handle.next_request());
    let (_, respond) = tokio_test::assert_ready!(next.poll()).unwrap();
    respond.send_error("the application broke");
    let error = tokio_test::assert_ready!(answer.poll()).unwrap_err();
    assert_eq!(error.to_string(), "the application broke");
    drop(next);

    handle.send_error("closed for good");
    let Poll::Ready(Err(error)) = poll_ready(&mut service) else {
        panic!("the error of readiness was kept back")
    };
    assert_eq!(error.to_string(), "closed for good");
}

#[test]
fn each_layer_works_alone() {
    let (inner, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
    let mut signal = SignalLayer::new().layer(inner);
    let ready = at_once(signal.ready()).unwrap();
    let mut answer = tokio_test::task::spawn(ready.call(ask("GET", "/", &[])));
    let mut next = tokio_test::task::spawn(handle.next_request());
    let (_, respond) = tokio_test::assert_ready!(next.poll()).unwrap();
    let mut response = Response::new(Full::from("x"));
    response
        .headers_mut()
        .insert("affinity-session", "end".parse().unwrap());
    respond.send_response(response);
    let response = tokio_test::assert_ready!(answer.poll()).unwrap();
    assert!(!response.headers().contains_key("affinity-session"));

    let site = Site::new();
    let codec = std::sync::Arc::new(crate::support::codec("checkout", crate::support::K1));
    let assign = AssignLayer::new(site.rollouts.clone(), codec.clone()).unwrap();
    let cookie = format!("{}={}", crate::support::COOKIE_NAME, site.token("B"));
    let request = || ask("GET", "/", &[("cookie", cookie.as_str())]);
    let app = App::new();
    let response = at_once(assign.layer(app.clone()).oneshot(request())).unwrap();
    let affinity = response
        .extensions()
        .get::<tower_affinity::Affinity>()
        .unwrap();
    assert_eq!(
        affinity.decision().cause.as_str(),
        "new",
        "without a wire side all are new"
    );
    assert!(!response.headers().contains_key("set-cookie"));
    let response = at_once(PinLayer::new(codec).layer(app).oneshot(request())).unwrap();
    assert!(
        !response.headers().contains_key("set-cookie"),
        "nobody decided"
    );
}

#[test]
fn no_future_of_the_path_is_boxed() {
    fn name<S: Service<Request<Body>>>() -> &'static str {
        std::any::type_name::<S::Future>()
    }
    let future = name::<AffinityService<App>>();
    assert!(
        !future.contains("Box") && !future.contains("dyn "),
        "{future}"
    );
    assert!(future.contains("wire::future::ResponseFuture"), "{future}");
}

#[test]
fn a_request_can_be_sent_from_any_thread() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<AffinityLayer>();
    shared::<PinLayer>();
    shared::<AssignLayer>();
    shared::<SignalLayer>();
    shared::<AffinityService<App>>();
    shared::<PinService<App>>();
    shared::<SignalService<App>>();
    shared::<tower_affinity::assign::Assign<App>>();
    shared::<tower_affinity::Affinity>();
    shared::<tower_affinity::Rollouts>();
    sent::<<AffinityService<App> as Service<Request<Body>>>::Future>();
}

/// Per core: what is not Send inside stays usable outside.
#[test]
fn an_inner_service_may_be_neither_send_nor_sync() {
    let answered = std::rc::Rc::new(std::cell::Cell::new(0));
    let inner = tower::service_fn({
        let answered = answered.clone();
        move |_: Request<Body>| {
            answered.set(answered.get() + 1);
            let answered = answered.clone();
            async move {
                let body = Body::from(answered.get().to_string());
                Ok::<_, std::convert::Infallible>(Response::new(body))
            }
        }
    });
    let response = at_once(Site::new().layer.layer(inner).oneshot(ask("GET", "/", &[]))).unwrap();
    assert_eq!((response.status().as_u16(), answered.get()), (200, 1));
}
