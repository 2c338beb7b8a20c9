//! Cuts of what is open for long.

use std::convert::Infallible;
use std::pin::pin;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::{Full, StreamBody};
use tokio_test::{assert_pending, assert_ready, task};
use tower_affinity_testing::{id, name};

use super::{acquire, acquire_id, groups as made};
use crate::balance::{BalanceBody, Cut, Groups, StreamCut};

fn groups() -> Groups {
    made(&[("a", 1)])
}

/// A body that never sends anything.
fn silent() -> impl Body<Data = Bytes, Error = Infallible> {
    StreamBody::new(futures_util::stream::pending::<
        Result<Frame<Bytes>, Infallible>,
    >())
}

#[test]
fn a_silent_answer_breaks_at_the_cut() {
    let groups = groups();
    let lease = acquire(&groups, "a").unwrap();
    let mut body = task::spawn(BalanceBody::new(Box::pin(silent()), lease));
    let poll = |body: &mut task::Spawn<BalanceBody<_>>| body.enter(|cx, body| body.poll_frame(cx));
    assert_pending!(poll(&mut body));
    let open = groups.open_streams(&id("a"));
    assert_eq!(open.len(), 1);
    assert!(open[0].cut());
    assert!(body.is_woken(), "who waits is not told");
    let error = assert_ready!(poll(&mut body)).unwrap().unwrap_err();
    assert!(error.is::<StreamCut>(), "{error}");
    assert_eq!(
        groups.in_flight(&name("a")),
        0,
        "a cut answer is still in flight"
    );
    assert!(!open[0].cut(), "a stream was cut twice");
}

#[test]
fn an_answer_that_is_there_at_once_is_no_stream() {
    let groups = groups();
    let lease = acquire(&groups, "a").unwrap();
    let mut body = task::spawn(BalanceBody::new(Full::new(Bytes::from("x")), lease));
    assert_ready!(body.enter(|cx, body| body.poll_frame(cx)));
    assert!(groups.open_streams(&id("a")).is_empty());
}

#[test]
fn a_stream_that_ends_by_itself_is_not_open_any_more() {
    let groups = groups();
    let lease = acquire(&groups, "a").unwrap();
    let mut cut = task::spawn(Cut::of(lease));
    assert_pending!(cut.poll());
    let open = groups.open_streams(&id("a"));
    drop(cut);
    assert!(groups.open_streams(&id("a")).is_empty());
    assert!(!open[0].cut());
}

#[test]
fn what_is_opened_under_an_ended_id_is_cut_at_once_and_other_ids_are_not() {
    let groups = groups();
    let restored = tower_affinity_core::GroupId::new(name("a"), 2);
    let mut open = task::spawn(Cut::of(acquire(&groups, "a").unwrap()));
    let mut other = task::spawn(Cut::of(acquire_id(&groups, &restored).unwrap()));
    assert_pending!(open.poll());
    assert_pending!(other.poll());
    assert_eq!(groups.end(&id("a")), 1);
    assert_ready!(open.poll());
    assert_pending!(other.poll());
    let mut late = task::spawn(Cut::of(acquire(&groups, "a").unwrap()));
    assert_ready!(late.poll());
}

#[tokio::test]
async fn all_who_wait_on_one_request_are_told() {
    let groups = groups();
    let lease = acquire(&groups, "a").unwrap();
    let (mut one, mut two) = (
        task::spawn(Cut::of(lease.clone())),
        task::spawn(Cut::of(lease)),
    );
    assert_pending!(one.poll());
    assert_pending!(two.poll());
    assert_eq!(groups.end(&id("a")), 1, "one request is one stream");
    assert!(one.is_woken() && two.is_woken());
    pin!(one).await;
}
