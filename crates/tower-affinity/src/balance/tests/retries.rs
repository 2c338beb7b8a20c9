//! When a request is sent again, where, and when not.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use proptest::prelude::*;
use tower_affinity_core::{NewGroup, Revision, Rollout, Timestamp};
use tower_affinity_testing::{START, active, name, rollout};

use super::super::{EndpointState, Error, Retries, Unserved};
use super::address;
use super::script::{Act, Seen, Stage, group, request};
use crate::Rollouts;
use crate::respond::UpstreamFault::{
    self, Closed, Connect, Declined, Protocol, RequestBody, Timeout, Unsent,
};

const BROKEN: Act = Act::Fails(Closed, 1);

fn once(outcome: &str) -> Vec<(String, f64)> {
    vec![(outcome.to_owned(), 1.0)]
}

fn fault(answer: Result<StatusCode, Error>) -> UpstreamFault {
    match answer {
        Err(Error::Endpoint(error)) => *error.downcast_ref().unwrap(),
        other => panic!("expected the endpoint's error, got {other:?}"),
    }
}

fn endpoints(seen: &[Seen]) -> BTreeSet<std::net::SocketAddr> {
    seen.iter().map(|seen| seen.endpoint).collect()
}

#[tokio::test]
async fn a_broken_get_is_tried_at_another_endpoint_of_its_group() {
    let stage = Stage::new(&[BROKEN, Act::Fails(Timeout, 0)]);
    let answer = stage.send(request(Method::GET, "")).await;
    assert_eq!(answer.unwrap(), 200);
    let seen = stage.seen();
    assert_eq!(seen.len(), 3);
    let endpoints = endpoints(&seen);
    assert_eq!(endpoints.len(), 3, "an endpoint was tried twice: {seen:?}");
    assert!(endpoints.is_subset(&(0..4).map(address).collect()));
    let outcomes = stage.outcomes();
    assert_eq!(
        outcomes,
        [("failure".to_owned(), 1.0), ("success".to_owned(), 1.0)]
    );
}

#[tokio::test]
async fn an_attempt_has_left_its_place_when_the_next_one_takes_its_own() {
    let stage = Stage::new(&[BROKEN, BROKEN]);
    stage.send(request(Method::PUT, "body")).await.unwrap();
    for seen in stage.seen() {
        assert_eq!(seen.in_flight, 1, "two attempts were in flight at once");
        assert!(b"body".starts_with(&seen.body[..]));
    }
    assert_eq!(stage.groups.in_flight(&name("a")), 0);
}

#[tokio::test]
async fn what_may_have_been_carried_out_is_sent_once_unless_its_method_is_idempotent() {
    for method in [Method::POST, Method::PATCH, Method::CONNECT] {
        for fails in [Closed, Timeout] {
            let stage = Stage::new(&[Act::Fails(fails, 0)]);
            let answer = stage.send(request(method.clone(), "body")).await;
            assert_eq!(fault(answer), fails);
            assert_eq!(stage.seen().len(), 1, "{method} was sent twice");
            assert_eq!(stage.outcomes(), []);
        }
    }
    for method in [
        Method::GET,
        Method::HEAD,
        Method::OPTIONS,
        Method::TRACE,
        Method::DELETE,
    ] {
        let stage = Stage::new(&[BROKEN]);
        let answer = stage.send(request(method.clone(), "body")).await;
        assert_eq!(answer.unwrap(), 200, "{method}");
        assert_eq!(stage.seen()[1].body, "body");
        assert_eq!(stage.outcomes(), once("success"));
    }
}

#[tokio::test]
async fn what_no_endpoint_has_seen_is_sent_again_whatever_its_method_and_length() {
    let long = Bytes::from(vec![b'x'; 200_000]);
    for fails in [Connect, Unsent] {
        let stage = Stage::new(&[Act::Fails(fails, 0)]);
        let post = Request::post("/").body(Full::new(long.clone())).unwrap();
        assert_eq!(stage.send(post).await.unwrap(), 200);
        assert_eq!(stage.seen()[1].body, long);
        assert_eq!(stage.outcomes(), once("success"));
    }
}

/// Clients can ask for what an endpoint does not serve as often as they like.
#[tokio::test]
async fn what_an_endpoint_declines_is_asked_for_once_and_ejects_nobody() {
    let stage = Stage::new(&[Act::Fails(Declined, 0); 40]);
    for asked in 1..=40 {
        let answer = stage.send(request(Method::GET, "")).await;
        assert_eq!(fault(answer), Declined, "request {asked}");
    }
    assert_eq!(stage.seen().len(), 40);
    assert_eq!(stage.outcomes(), []);
    for endpoint in stage.groups.endpoints(&name("a")) {
        assert_eq!(endpoint.state(), EndpointState::Ready);
    }
}

#[tokio::test]
async fn a_post_of_which_a_byte_was_taken_is_not_sent_again_whatever_the_leaf_says() {
    for fails in [Connect, Unsent] {
        let stage = Stage::new(&[Act::Fails(fails, 1)]);
        let answer = stage.send(request(Method::POST, "body")).await;
        assert_eq!(fault(answer), fails);
        assert_eq!(stage.seen().len(), 1);
        assert_eq!(stage.outcomes(), once("not_replayable"));
    }
}

#[tokio::test]
async fn a_body_that_was_not_kept_is_not_sent_again() {
    let stage = Stage::new(&[BROKEN]);
    let long = Full::new(Bytes::from(vec![b'x'; 65_537]));
    let answer = stage.send(Request::put("/").body(long).unwrap()).await;
    assert_eq!(fault(answer), Closed);
    assert_eq!(stage.seen().len(), 1);
    assert_eq!(stage.outcomes(), once("not_replayable"));
    let stage = Stage::new(&[BROKEN]);
    let fits = Full::new(Bytes::from(vec![b'x'; 65_536]));
    let answer = stage.send(Request::put("/").body(fits).unwrap()).await;
    assert_eq!(answer.unwrap(), 200);
}

#[tokio::test]
async fn nothing_is_sent_more_often_than_it_may_and_the_last_error_is_answered() {
    let stage = Stage::new(&[BROKEN, BROKEN, Act::Fails(Timeout, 0)]);
    let answer = stage.send(request(Method::GET, "")).await;
    assert_eq!(fault(answer), Timeout);
    assert_eq!(stage.seen().len(), 3);
    let outcomes = stage.outcomes();
    assert_eq!(
        outcomes,
        [("failure".to_owned(), 2.0), ("limit".to_owned(), 1.0)]
    );
    let mut stage = Stage::new(&[BROKEN]);
    stage.retries = Retries::none();
    assert_eq!(fault(stage.send(request(Method::GET, "")).await), Closed);
    assert_eq!(stage.seen().len(), 1);
}

#[tokio::test]
async fn errors_that_more_attempts_would_not_mend_are_answered_at_once() {
    for fails in [Protocol, RequestBody] {
        let stage = Stage::new(&[Act::Fails(fails, 0)]);
        assert_eq!(fault(stage.send(request(Method::GET, "")).await), fails);
        assert_eq!(stage.seen().len(), 1, "{fails:?}");
    }
}

#[tokio::test]
async fn an_endpoints_own_errors_are_passed_on() {
    for status in [500, 502, 503, 504, 421, 429] {
        let stage = Stage::new(&[Act::Answers(status)]);
        assert_eq!(stage.send(request(Method::GET, "")).await.unwrap(), status);
        assert_eq!(stage.seen().len(), 1, "{status} was asked for again");
        assert_eq!(stage.outcomes(), []);
    }
}

#[tokio::test]
async fn an_upgrade_is_sent_again_only_if_no_endpoint_has_seen_it() {
    let upgrade = || {
        Request::get("/ws")
            .header("upgrade", "websocket")
            .body(Full::<Bytes>::default())
    };
    let stage = Stage::new(&[Act::Fails(Connect, 0)]);
    assert_eq!(stage.send(upgrade().unwrap()).await.unwrap(), 200);
    let stage = Stage::new(&[BROKEN]);
    assert_eq!(fault(stage.send(upgrade().unwrap()).await), Closed);
    assert_eq!(stage.seen().len(), 1);
}

#[tokio::test]
async fn a_group_has_no_more_attempts_than_its_budget() {
    let stage = Stage::new(&[BROKEN; 1_000]);
    let mut refused = 0.0;
    for _ in 0..100 {
        assert_eq!(fault(stage.send(request(Method::GET, "")).await), Closed);
        let outcomes = stage.outcomes().into_iter();
        refused += outcomes
            .filter(|(o, _)| o == "budget")
            .map(|(_, n)| n)
            .sum::<f64>();
    }
    assert_eq!(
        stage.seen().len(),
        100 + 20 + 30,
        "not a fifth and 3 a second"
    );
    assert!(refused > 50.0, "{refused} requests found the budget spent");
}

fn aborted() -> Rollout {
    let groups = [
        active("b", 1).stable(),
        NewGroup::aborted(name("a"), name("b")),
    ];
    Rollout::new(Revision(2), Timestamp::from_secs(START), groups).unwrap()
}

#[tokio::test]
async fn nothing_is_sent_again_into_a_group_that_was_aborted_meanwhile() {
    let mut stage = Stage::new(&[BROKEN, BROKEN]);
    let rollouts = Rollouts::fixed(rollout(1, &[("a", 1), ("b", 1)]));
    stage.rollouts = Some(rollouts.clone());
    assert_eq!(stage.send(request(Method::GET, "")).await.unwrap(), 200);
    assert_eq!(stage.seen().len(), 3);
    stage.outcomes();
    rollouts
        .update(|_| Ok::<_, std::convert::Infallible>(aborted()))
        .unwrap();
    assert!(
        rollouts
            .current()
            .is_aborted(&group(), Timestamp::from_secs(START))
    );
    let mut stage = Stage::new(&[BROKEN]);
    stage.rollouts = Some(rollouts);
    assert_eq!(fault(stage.send(request(Method::GET, "")).await), Closed);
    assert_eq!(stage.seen().len(), 1, "the aborted group was asked again");
    assert_eq!(stage.outcomes(), once("aborted"));
}

#[tokio::test]
async fn no_attempt_begins_after_the_deadline() {
    let mut stage = Stage::new(&[BROKEN, BROKEN]);
    stage.takes = Duration::from_secs(3);
    stage.retries = Retries::new().within(Duration::from_secs(5));
    assert_eq!(fault(stage.send(request(Method::GET, "")).await), Closed);
    assert_eq!(stage.seen().len(), 2);
    let outcomes = stage.outcomes();
    assert_eq!(
        outcomes,
        [("deadline".to_owned(), 1.0), ("failure".to_owned(), 1.0)]
    );
}

#[tokio::test]
async fn a_request_that_reached_another_group_is_tried_at_another_endpoint() {
    for method in [Method::GET, Method::POST] {
        let stage = Stage::new(&[Act::Misdirects(1)]);
        let answer = stage.send(request(method, "body")).await;
        assert_eq!(answer.unwrap(), 200);
        let seen = stage.seen();
        assert_eq!((seen.len(), endpoints(&seen).len()), (2, 2));
        assert_eq!(seen[1].body, "body");
        let series = stage.metrics.take();
        assert_eq!(
            series.get("affinity_wrong_group_total{group=a}"),
            Some(&1.0)
        );
        let retried = "affinity_retries_total{group=a,outcome=success}";
        assert_eq!(series.get(retried), Some(&1.0));
    }
}

#[tokio::test]
async fn a_request_that_reaches_nobody_of_its_group_is_the_wrong_groups() {
    let stage = Stage::new(&[Act::Misdirects(0); 3]);
    match stage.send(request(Method::POST, "body")).await {
        Err(Error::Unserved(Unserved::WrongGroup(group))) => assert_eq!(group, name("a")),
        other => panic!("expected the wrong group, got {other:?}"),
    }
    assert_eq!(stage.seen().len(), 3);
    let alone = Stage::new(&[Act::Misdirects(0); 3]);
    alone.groups.update(&name("a"), [address(0)]);
    assert!(alone.send(request(Method::GET, "")).await.is_err());
    assert_eq!(alone.seen().len(), 1, "the wrong endpoint was asked again");
    assert_eq!(alone.outcomes(), once("no_endpoint"));
    let long = Stage::new(&[Act::Misdirects(1)]);
    let body = Full::new(Bytes::from(vec![b'x'; 65_537]));
    assert!(
        long.send(Request::post("/").body(body).unwrap())
            .await
            .is_err()
    );
    assert_eq!(long.seen().len(), 1);
    assert_eq!(long.outcomes(), once("not_replayable"));
}

#[tokio::test]
async fn the_only_endpoint_is_tried_again_where_that_can_help() {
    for (fails, attempts) in [(Closed, 2), (Unsent, 2), (Connect, 1)] {
        let stage = Stage::new(&[Act::Fails(fails, 0)]);
        stage.groups.update(&name("a"), [address(0)]);
        let answer = stage.send(request(Method::GET, "")).await;
        assert_eq!(answer.is_ok(), attempts == 2, "{fails:?}");
        assert_eq!(stage.seen().len(), attempts, "{fails:?}");
    }
}

#[tokio::test]
async fn a_group_of_which_nobody_can_be_reached_has_no_ready_endpoint() {
    let unready = |answer: Result<StatusCode, Error>| match answer {
        Err(Error::Unserved(Unserved::NoReadyEndpoint(group))) => group == name("a"),
        _ => false,
    };
    let mut stage = Stage::new(&[Act::Fails(Connect, 0); 9]);
    stage
        .groups
        .update(&name("a"), [address(0), address(1), address(2)]);
    let answer = stage.send(request(Method::POST, "body")).await;
    assert!(unready(answer), "all three were tried");
    assert_eq!(stage.seen().len(), 3);
    stage.retries = Retries::none();
    let answer = stage.send(request(Method::POST, "body")).await;
    assert!(unready(answer), "the other two are ejected");
    assert_eq!(stage.seen().len(), 1);
}

#[tokio::test]
async fn who_is_left_to_be_asked_keeps_a_group_from_being_called_unready() {
    let mut stage = Stage::new(&[Act::Fails(Connect, 0); 4]);
    let answer = stage.send(request(Method::GET, "")).await;
    assert_eq!(fault(answer), Connect, "the fourth was not asked");
    assert_eq!(stage.seen().len(), 3);
    let alone = |act| {
        let stage = Stage::new(&[act; 3]);
        stage.groups.update(&name("a"), [address(0)]);
        stage
    };
    stage = alone(Act::Fails(Connect, 1));
    let answer = stage.send(request(Method::POST, "body")).await;
    assert_eq!(fault(answer), Connect, "a byte of the body was taken");
    stage = alone(BROKEN);
    let answer = stage.send(request(Method::GET, "")).await;
    assert_eq!(fault(answer), Closed, "somebody was reached");
}

fn acts() -> impl Strategy<Value = Act> {
    let faults = prop::sample::select(vec![
        Connect,
        Unsent,
        Closed,
        Timeout,
        Protocol,
        RequestBody,
    ]);
    prop_oneof![
        4 => (faults, 0_usize..4).prop_map(|(fault, frames)| Act::Fails(fault, frames)),
        1 => (0_usize..4).prop_map(Act::Misdirects),
        1 => (200_u16..600).prop_map(Act::Answers),
    ]
}

proptest! {
    #[test]
    fn whatever_endpoints_do_retries_keep_their_rules(
        requests in prop::collection::vec(
            (any::<bool>(), prop::collection::vec("[a-z]{1,9}", 0..4), prop::collection::vec(acts(), 0..4)),
            1..40,
        ),
        max in 0_u32..4,
        floor in 0_u32..2,
    ) {
        let mut further = 0;
        let all: Vec<_> = requests.iter().flat_map(|(_, _, acts)| acts.clone()).collect();
        let mut stage = Stage::new(&all);
        stage.retries = Retries::new().max(max).budget_floor(floor).max_body(16);
        for (post, pieces, _) in &requests {
            let method = if *post { Method::POST } else { Method::PUT };
            let whole: String = pieces.concat();
            let frames: Vec<Result<_, std::convert::Infallible>> = pieces
                .iter()
                .map(|piece| Ok(Frame::data(Bytes::from(piece.clone()))))
                .collect();
            let body = StreamBody::new(futures_util::stream::iter(frames));
            let request = Request::builder().method(method).body(body).unwrap();
            let answer = tokio_test::block_on(stage.send(request));
            let seen = stage.seen();
            prop_assert!(seen.len() <= 1 + max as usize);
            further += seen.len() - 1;
            let of_a: BTreeSet<_> = (0..4).map(address).collect();
            prop_assert!(endpoints(&seen).is_subset(&of_a), "another group was asked");
            for attempt in &seen {
                prop_assert!(whole.as_bytes().starts_with(&attempt.body), "no beginning of the body");
            }
            if answer.is_ok() {
                prop_assert_eq!(&seen.last().unwrap().body, whole.as_bytes(), "a short body was answered");
            }
        }
        let budget = requests.len() / 5 + 10 * floor as usize;
        prop_assert!(further <= budget, "{further} further attempts of {budget}");
        prop_assert_eq!(stage.groups.in_flight(&name("a")), 0);
    }

    #[test]
    fn a_post_is_never_sent_again_after_a_connection_took_a_byte_of_it(
        fails in prop::collection::vec(
            (prop::sample::select(vec![Connect, Unsent, Closed, Timeout]), 0_usize..3),
            1..4,
        ),
    ) {
        let acts: Vec<_> = fails.iter().map(|(fault, frames)| Act::Fails(*fault, *frames)).collect();
        let stage = Stage::new(&acts);
        drop(tokio_test::block_on(stage.send(request(Method::POST, "body"))));
        let seen = stage.seen();
        let took = seen.iter().position(|attempt| !attempt.body.is_empty());
        prop_assert_eq!(took.unwrap_or(seen.len() - 1), seen.len() - 1);
    }
}
