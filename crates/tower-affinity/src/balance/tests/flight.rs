//! How long a request is in flight.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{Empty, Full};
use tower::{ServiceExt, service_fn};
use tower_affinity_testing::name;

use super::super::{BalanceBody, Endpoint, GroupBalance, Groups, Lease, ReplayBody};
use super::{groups, pinned};
use crate::fixtures::{Script, Step, poll_body};

/// The answer of group `a`'s endpoint, with that body.
async fn answer(groups: &Groups, steps: Vec<Step>) -> BalanceBody<Script> {
    let body = Arc::new(Mutex::new(Some(Script::new(steps))));
    let connect = move |_: &Arc<Endpoint>| {
        let mut body = body.lock().unwrap().take();
        service_fn(move |_: Request<ReplayBody<Empty<Bytes>>>| {
            let body = body.take().unwrap();
            std::future::ready(Ok::<_, Infallible>(Response::new(body)))
        })
    };
    let answer = GroupBalance::new(groups.clone(), connect).oneshot(pinned("a"));
    answer.await.unwrap().into_body()
}

/// What group `a` and its endpoint have in flight.
fn in_flight(groups: &Groups) -> [usize; 2] {
    let endpoint = &groups.endpoints(&name("a"))[0];
    [groups.in_flight(&name("a")), endpoint.in_flight()]
}

#[tokio::test]
async fn a_request_is_in_flight_until_its_body_ends() {
    let groups = groups(&[("a", 1)]);
    let mut body = answer(&groups, vec![Step::Data("x"), Step::End]).await;
    assert_eq!(in_flight(&groups), [1, 1]);
    assert!(matches!(poll_body(&mut body), Poll::Ready(Some(Ok(())))));
    assert_eq!(in_flight(&groups), [1, 1], "the body has not ended yet");
    assert!(matches!(poll_body(&mut body), Poll::Ready(None)));
    assert_eq!(in_flight(&groups), [0, 0]);
}

#[tokio::test]
async fn a_request_is_in_flight_until_its_body_breaks() {
    let groups = groups(&[("a", 1)]);
    let mut body = answer(&groups, vec![Step::Broken]).await;
    assert!(matches!(poll_body(&mut body), Poll::Ready(Some(Err(_)))));
    assert_eq!(in_flight(&groups), [0, 0]);
}

#[tokio::test]
async fn a_request_is_in_flight_until_its_body_is_dropped() {
    let groups = groups(&[("a", 1)]);
    let mut body = answer(&groups, vec![Step::Data("x")]).await;
    assert!(poll_body(&mut body).is_ready());
    assert!(poll_body(&mut body).is_pending());
    assert_eq!(in_flight(&groups), [1, 1]);
    drop(body);
    assert_eq!(in_flight(&groups), [0, 0]);
}

#[tokio::test]
async fn the_last_frame_ends_a_body_that_nobody_asks_for_more() {
    let groups = groups(&[("a", 1)]);
    let connect = |_: &Arc<Endpoint>| {
        service_fn(|_: Request<ReplayBody<Empty<Bytes>>>| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("whole"))))
        })
    };
    let answer = GroupBalance::new(groups.clone(), connect).oneshot(pinned("a"));
    let mut body = answer.await.unwrap().into_body();
    assert_eq!(body.size_hint().exact(), Some(5));
    assert!(!body.is_end_stream());
    assert!(poll_body(&mut body).is_ready());
    assert_eq!(in_flight(&groups), [0, 0]);
    assert!(body.is_end_stream());
}

#[tokio::test]
async fn a_request_whose_answer_nobody_waits_for_is_not_in_flight() {
    let groups = groups(&[("a", 1)]);
    let connect = |_: &Arc<Endpoint>| {
        service_fn(|_: Request<ReplayBody<Empty<Bytes>>>| {
            std::future::pending::<Result<Response<Script>, Infallible>>()
        })
    };
    let mut answer =
        tokio_test::task::spawn(GroupBalance::new(groups.clone(), connect).oneshot(pinned("a")));
    assert!(answer.poll().is_pending());
    assert_eq!(in_flight(&groups), [1, 1]);
    drop(answer);
    assert_eq!(in_flight(&groups), [0, 0]);
}

#[tokio::test]
async fn a_tunnel_is_in_flight_until_its_lease_ends() {
    let groups = groups(&[("a", 1)]);
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let connect = move |_: &Arc<Endpoint>| {
        let keep = Arc::clone(&keep);
        service_fn(move |mut request: Request<ReplayBody<Empty<Bytes>>>| {
            *keep.lock().unwrap() = request.extensions_mut().remove::<Lease>();
            let mut response = Response::new(Script::new([Step::End]));
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            std::future::ready(Ok::<_, Infallible>(response))
        })
    };
    let answer = GroupBalance::new(groups.clone(), connect).oneshot(pinned("a"));
    let mut response = answer.await.unwrap();
    assert!(poll_body(response.body_mut()).is_ready());
    drop(response);
    assert_eq!(in_flight(&groups), [1, 1], "the tunnel still runs");
    let ended = Arc::new(AtomicBool::new(false));
    struct Noted(Arc<AtomicBool>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let lease = kept.lock().unwrap().take().unwrap();
    lease.hold(Noted(Arc::clone(&ended)));
    assert!(!ended.load(Ordering::SeqCst));
    drop(lease);
    assert_eq!(in_flight(&groups), [0, 0]);
    assert!(
        ended.load(Ordering::SeqCst),
        "what hung on the lease stayed"
    );
}

#[test]
fn a_body_of_ours_is_what_it_was_made_of() {
    let mut body = BalanceBody::<Script>::from(Bytes::from("ours"));
    assert_eq!(body.size_hint().exact(), Some(4));
    assert!(!body.is_end_stream());
    assert!(matches!(poll_body(&mut body), Poll::Ready(Some(Ok(())))));
    assert!(matches!(poll_body(&mut body), Poll::Ready(None)));
    let empty = BalanceBody::<Script>::default();
    assert!(empty.is_end_stream());
    assert_eq!(empty.size_hint().exact(), Some(0));
}
