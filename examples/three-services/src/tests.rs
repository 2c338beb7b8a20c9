//! What a session meets on its way through three services.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use crate::{Client, NEW, OLD, Seen, Shop, Visitor, show, visits};

const SESSIONS: usize = 500;
const CALLS: usize = 20;

/// Far more than it takes; a call that hangs ends here.
const BOUND: Duration = Duration::from_secs(120);

async fn within<T>(future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(BOUND, future).await;
    ended.expect("it takes no longer than that")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_session_meets_one_commit_of_each_service_through_a_promote() {
    let shop = Arc::new(Shop::open().await.unwrap());
    let met = within(visits(&shop, SESSIONS, CALLS)).await.unwrap();
    assert_eq!(met.len(), SESSIONS);
    let mut ways = BTreeMap::<Vec<Seen>, usize>::new();
    for (number, visits) in met.iter().enumerate() {
        assert_eq!(visits.len(), CALLS);
        let services: Vec<_> = visits[0].iter().map(|seen| seen.service.as_str()).collect();
        assert_eq!(services, ["web", "cart", "price"]);
        let different: BTreeSet<_> = visits.iter().collect();
        assert_eq!(different.len(), 1, "session {number} met {different:?}");
        *ways.entry(visits[0].clone()).or_default() += 1;
    }
    assert_eq!(ways.len(), 8, "each service draws for itself: {ways:?}");
    let least = ways.values().min().unwrap();
    assert!(
        *least > SESSIONS / 8 / 2,
        "the draws depend on each other: {ways:?}"
    );

    // what begins after the promote is the new commit's
    let mut late = Visitor::new(Client::outside(shop.web().address()));
    let met = within(late.visit()).await.unwrap();
    assert!(met.iter().all(|seen| seen.commit == NEW), "{met:?}");
}

#[tokio::test]
async fn the_answer_brings_no_pin_of_a_service_further_down_to_the_visitor() {
    let shop = Shop::open().await.unwrap();
    let mut client = Client::outside(shop.web().address());
    let asks = HeaderMap::from_iter([("affinity-pin".parse().unwrap(), "".parse().unwrap())]);
    let answer = within(client.get(asks)).await.unwrap();
    let pins: Vec<_> = answer.headers().get_all("affinity-pin").iter().collect();
    assert_eq!(pins.len(), 1, "{pins:?}");
    let back = HeaderMap::from_iter([("affinity-pin".parse().unwrap(), pins[0].clone())]);
    let next = within(client.get(back)).await.unwrap();
    let renewed = next.headers().get("affinity-pin");
    assert_eq!(renewed, None, "the pin was not one of the first service");
}

#[tokio::test]
async fn the_demo_ends_and_says_that_nobody_hopped() {
    let shop = Arc::new(Shop::open().await.unwrap());
    let text = show(&within(visits(&shop, 4, 4)).await.unwrap());
    let sum = "4 of 4 visitors met one commit of each service";
    assert!(text.contains(sum), "{text}");
    assert!(text.contains(OLD) || text.contains(NEW), "{text}");
}
