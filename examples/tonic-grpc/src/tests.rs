//! What a session over gRPC meets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::collections::BTreeSet;
use std::time::Duration;

use tonic::Code;
use tower_affinity::Keyring;

use crate::{Cart, NEW, Price, Running, Shopper};

/// Far more than it takes; a call that hangs ends here.
const BOUND: Duration = Duration::from_secs(60);

async fn within<T>(future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(BOUND, future).await;
    ended.expect("it takes no longer than that")
}

/// Both services, and what opens the pins of `cart` for `price`.
async fn shop() -> [Running; 2] {
    let keys = Keyring::ephemeral().unwrap();
    let price = Price::start(keys.clone()).await.unwrap();
    let cart = Cart::start(keys, price.address()).await.unwrap();
    [cart, price]
}

/// A shopper whose session is on that commit of `cart`, and what else it has met.
async fn on(cart: &Running, commit: &str) -> (Shopper, Vec<String>) {
    for _ in 0..100 {
        let mut shopper = Shopper::connect(cart.address()).await.unwrap();
        let met = shopper.add("tea").await.unwrap().met;
        if met[0] == format!("cart {commit}") {
            return (shopper, met);
        }
    }
    panic!("100 sessions and none on {commit}");
}

#[tokio::test]
async fn a_session_over_grpc_meets_one_commit_of_each_service() {
    within(async {
        let [cart, _price] = shop().await;
        let mut ways = BTreeSet::new();
        for _ in 0..40 {
            let mut shopper = Shopper::connect(cart.address()).await.unwrap();
            let first = shopper.add("tea").await.unwrap().met;
            assert!(shopper.has_pin(), "the metadata brings no pin");
            for _ in 0..5 {
                assert_eq!(shopper.add("milk").await.unwrap().met, first);
            }
            ways.insert(first);
        }
        assert_eq!(ways.len(), 4, "each service draws for itself: {ways:?}");
    })
    .await;
}

#[tokio::test]
async fn a_refusal_is_a_status_of_grpc_and_clears_the_pin() {
    within(async {
        let [cart, _price] = shop().await;
        let (mut shopper, _) = on(&cart, NEW).await;
        cart.end_sessions_of(NEW).unwrap();
        let refused = shopper.add("milk").await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
        assert!(!shopper.has_pin(), "the pin of an ended session is cleared");
        let again = shopper.add("milk").await.unwrap();
        assert_ne!(again.met[0], format!("cart {NEW}"));
    })
    .await;
}

#[tokio::test]
async fn an_abort_further_down_moves_the_session_there_and_nowhere_else() {
    within(async {
        let [cart, price] = shop().await;
        let mut shoppers = Vec::new();
        for _ in 0..40 {
            let mut shopper = Shopper::connect(cart.address()).await.unwrap();
            let met = shopper.add("tea").await.unwrap().met;
            shoppers.push((shopper, met));
        }
        let gone = format!("price {NEW}");
        price.end_sessions_of(NEW).unwrap();
        for (shopper, met) in &mut shoppers {
            match shopper.add("milk").await {
                Ok(sum) => assert_eq!(sum.met, *met, "a session of the other commit"),
                Err(status) => {
                    assert_eq!(met[1], gone);
                    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
                    let again = shopper.add("milk").await.unwrap().met;
                    assert_eq!(again[0], met[0], "it left its commit of cart");
                    assert_ne!(again[1], gone);
                }
            }
        }
        assert!(shoppers.iter().any(|(_, met)| met[1] == gone));
    })
    .await;
}
