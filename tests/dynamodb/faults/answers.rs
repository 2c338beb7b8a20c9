//! Answers that are none: each is an error, told in words of our own, after one request.

use std::error::Error;
use std::time::Duration;

use tokio::time::Instant;
use tower_affinity::core::{
    Claim, Lifetimes, PinStore, Revision, RowKey, SessionId, SessionPin, StoreError, Terms,
    Timestamp,
};
use tower_affinity::dynamodb::{DynamoOptions, DynamoStore};
use tower_affinity_testing::store::SERVICE;
use tower_affinity_testing::{START, id};

use crate::support::{Between, DynamoServer, Mood, TABLE, Tells};

fn claim(bits: u128) -> Claim {
    let session = SessionId::from_random(bits);
    let (now, lifetimes) = (Timestamp::from_secs(START), Lifetimes::default());
    Claim {
        key: RowKey::Session(session),
        pin: SessionPin::new(session, id("a"), Revision(10), now, lifetimes),
        terms: Terms { now, lifetimes },
        evicts: true,
    }
}

/// The error and its causes as one text.
fn told(error: &StoreError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(next) = cause {
        text += &format!("; {next} {next:?}");
        cause = next.source();
    }
    text
}

/// A store with those times.
fn over(url: &str, response: Duration) -> DynamoStore {
    let options = DynamoOptions::new("eu-central-1", "AKIAEXAMPLE", "hunter2")
        .endpoint(url)
        .connect_timeout(Duration::from_millis(500))
        .response_timeout(response);
    DynamoStore::new(TABLE, "shop", SERVICE.parse().unwrap(), options).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_no_answer_is_an_error_after_one_request() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let between = Between::to(server.address()).await;
    let store = over(&between.url(), Duration::from_secs(10));
    store.claim(claim(1)).await.unwrap();
    for (mood, expected) in [
        (
            Mood::Refuses("ProvisionedThroughputExceededException"),
            "ProvisionedThroughputExceededException",
        ),
        (Mood::Refuses("ThrottlingException"), "ThrottlingException"),
        (
            Mood::Refuses("RequestLimitExceeded"),
            "RequestLimitExceeded",
        ),
        (
            Mood::Refuses("ResourceNotFoundException"),
            "ResourceNotFoundException",
        ),
        (
            Mood::Refuses("UnrecognizedClientException"),
            "UnrecognizedClientException",
        ),
        (Mood::Breaks(500), ""),
        (Mood::Breaks(503), ""),
        (Mood::Breaks(302), ""),
        (Mood::Says("{\"Attributes\": {\"k\""), "none of DynamoDB's"),
        (Mood::Says("<html>"), "none of DynamoDB's"),
        (Mood::Says("[]"), ""),
        (Mood::Says("{\"Attributes\":{\"k\":{\"S\":7}}}"), ""),
        (Mood::Endless, ""),
    ] {
        between.is(mood);
        between.asked();
        let error = store.claim(claim(1)).await.unwrap_err();
        let told = told(&error);
        assert!(told.contains("out of reach"), "{mood:?}: {told}");
        assert!(told.contains(expected), "{mood:?}: {told}");
        let session = claim(1).pin.session.to_string();
        for secret in ["hunter2", "AKIAEXAMPLE", &session, "html", "not now"] {
            assert!(!told.contains(secret), "{mood:?}: {secret} in {told}");
        }
        let asked = between.asked();
        assert_eq!(asked.get("PutItem"), Some(&1), "{mood:?}: {asked:?}");
        assert_eq!(asked.len(), 1, "{mood:?}: {asked:?}");
        // nor is it a row
        let read = store.load(claim(1).key, claim(1).terms).await;
        assert!(!matches!(read, Ok(Some(_))), "{mood:?}: {read:?}");
    }
    // an answer without end was cut off: the bound, and what sockets hold
    let taken = between.taken();
    assert!(
        taken < 2 * (4 << 20) + (32 << 20),
        "{taken} bytes were taken"
    );
    between.is(Mood::Well);
    let stands = store.claim(claim(1)).await.unwrap();
    assert_eq!(stands, claim(1).pin, "it is found again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_slow_or_not_there_fails_in_time() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let between = Between::to(server.address()).await;
    let store = over(&between.url(), Duration::from_millis(200));
    between.is(Mood::Slow(Duration::from_secs(60)));
    let begin = Instant::now();
    let error = store.claim(claim(1)).await.unwrap_err();
    let took = begin.elapsed();
    assert!(
        told(&error).contains("no answer in time"),
        "{}",
        told(&error)
    );
    // the time for a connection and that for an answer; a busy machine
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    between.is(Mood::Well);
    assert!(store.claim(claim(1)).await.is_ok(), "it is found again");
    let nobody = over("http://127.0.0.1:1", Duration::from_millis(200));
    let error = nobody.claim(claim(1)).await.unwrap_err();
    assert!(told(&error).contains("no connection"), "{}", told(&error));
}

/// A server that contradicts itself holds nobody: some requests, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_that_never_hold_end_in_an_error() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let between = Between::to(server.address()).await;
    let store = over(&between.url(), Duration::from_secs(10));
    between.is(Mood::Denies);
    let error = store.claim(claim(1)).await.unwrap_err();
    assert!(told(&error).contains("again and again"), "{}", told(&error));
    let asked = between.asked();
    assert_eq!((asked["PutItem"], asked["GetItem"]), (4, 4), "{asked:?}");
}
