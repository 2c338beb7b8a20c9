//! What a handler says, in the form that the gateway reads.

use http::{HeaderMap, Response};

use super::support::{GATEWAY, answered, gateways, pinned, request};
use crate::FromGatewayLayer;
use crate::signal::{Outcome, Signal};

async fn headers_of(peer: Option<&str>, answer: Response<()>) -> HeaderMap {
    let layer = FromGatewayLayer::new(gateways());
    let seen = answered(layer, request(peer, &pinned()), answer).await;
    seen.answer.headers().clone()
}

fn values<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let values = headers.get_all(name).into_iter();
    values.map(|value| value.to_str().unwrap()).collect()
}

#[tokio::test]
async fn typed_words_of_a_handler_become_headers() {
    for (signal, word) in [
        (Signal::End, "end"),
        (Signal::Release, "release"),
        (Signal::MovedSeen, "moved-seen"),
    ] {
        for (outcome, told) in [(Outcome::Success, "success"), (Outcome::Failure, "failure")] {
            let mut answer = Response::new(());
            answer.extensions_mut().insert(signal);
            answer.extensions_mut().insert(outcome);
            let headers = headers_of(Some(GATEWAY), answer).await;
            assert_eq!(values(&headers, "affinity-session"), [word]);
            assert_eq!(values(&headers, "affinity-outcome"), [told]);
            assert_eq!(Signal::parse(word.as_bytes()), Some(signal));
        }
    }
}

#[tokio::test]
async fn headers_that_a_handler_sets_itself_are_left_alone() {
    let mut answer = Response::new(());
    let headers = answer.headers_mut();
    headers.insert("affinity-session", "moved-seen".parse().unwrap());
    headers.insert("set-cookie", "a=b".parse().unwrap());
    answer.extensions_mut().insert(Signal::Release);
    let headers = headers_of(Some(GATEWAY), answer).await;
    assert_eq!(
        values(&headers, "affinity-session"),
        ["moved-seen", "release"]
    );
    assert_eq!(values(&headers, "set-cookie"), ["a=b"]);
    assert_eq!(headers.len(), 3, "{headers:?}");
}

#[tokio::test]
async fn nobodys_request_has_no_session_to_say_anything_of() {
    let mut answer = Response::new(());
    answer.extensions_mut().insert(Signal::End);
    assert!(headers_of(None, answer).await.is_empty());
}
