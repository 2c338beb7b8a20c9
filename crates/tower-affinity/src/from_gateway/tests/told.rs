//! What a gateway says becomes what is known.

use http::HeaderMap;
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity_core::{Cause, Kind, MoveCause, SessionId};

use super::support::{GATEWAY, SESSION, assert_nobody, gateways, pinned, request, send};
use crate::fixtures::{decided, decision, moved};
use crate::{Affinity, FromGatewayLayer, GroupTagLayer, Trust};

fn layer() -> FromGatewayLayer {
    FromGatewayLayer::new(gateways())
}

#[tokio::test]
async fn a_trusted_gateway_is_believed() {
    for trust in [gateways(), Trust::Everyone] {
        let request = request(Some(GATEWAY), &pinned());
        let seen = send(FromGatewayLayer::new(trust), request).await;
        let affinity = seen.affinity.expect("no Affinity");
        assert_eq!(affinity.group(), "9f1c2ab");
        assert_eq!(affinity.session(), Some(SessionId::from_random(42)));
        let decision = affinity.decision();
        assert_eq!((decision.kind, decision.cause), (Kind::Pinned, Cause::Ok));
        assert!(affinity.moved_from().is_none());
        assert_eq!(
            seen.headers.len(),
            3,
            "the application can read them itself"
        );
        assert!(seen.counted.is_empty(), "{:?}", seen.counted);
        assert!(
            seen.answer.headers().is_empty(),
            "nothing is set on the answer"
        );
        assert!(seen.answer.extensions().get::<Affinity>().is_some());
    }
}

#[tokio::test]
async fn a_move_is_told_with_its_reason_and_time() {
    let mut headers = pinned();
    headers.push((
        "affinity-moved-from",
        "c3d4e5f; at=1800000000; cause=aborted",
    ));
    let seen = send(layer(), request(Some(GATEWAY), &headers)).await;
    let affinity = seen.affinity.unwrap();
    let last = affinity.moved_from().unwrap();
    assert_eq!(last.from.label(), "c3d4e5f");
    assert_eq!(last.at.as_secs(), 1_800_000_000);
    assert_eq!(last.cause, MoveCause::Aborted);
}

#[tokio::test]
async fn arms_are_told_and_a_session_without_them_has_none() {
    let mut headers = pinned();
    let seen = send(layer(), request(Some(GATEWAY), &headers)).await;
    let arms = seen.arms.expect("a handler may ask for its arms");
    assert_eq!((arms.of("button"), arms.iter().count()), (None, 0));

    headers.push(("affinity-arms", "button=green, search=b"));
    let seen = send(layer(), request(Some(GATEWAY), &headers)).await;
    let arms = seen.arms.expect("they are told");
    assert_eq!(arms.name_of("button"), Some("green"));
    assert_eq!(arms.name_of("search"), Some("b"));
    assert_eq!(arms.name_of("other"), None);
    let all: Vec<String> = arms
        .iter()
        .map(|(name, arm)| format!("{name}={arm}"))
        .collect();
    assert_eq!(all, ["button=green", "search=b"]);
    assert!(
        seen.counted.is_empty(),
        "who gave them has counted: {:?}",
        seen.counted
    );
}

#[tokio::test]
async fn arms_that_do_not_read_as_arms_make_it_nobodys_request() {
    let nine: Vec<String> = (0..9).map(|nth| format!("e{nth}=a")).collect();
    for arms in [
        "button",
        "button=",
        "=green",
        "Button=green",
        "b=a, b=c",
        &nine.join(","),
    ] {
        let mut headers = pinned();
        headers.push(("affinity-arms", arms));
        let seen = send(layer(), request(Some(GATEWAY), &headers)).await;
        assert_nobody(&seen, "malformed", arms);
    }
}

#[tokio::test]
async fn what_our_own_layer_tells_is_what_is_read() {
    let mut bypassed = decision("a", Kind::Bypassed, Cause::Follow);
    bypassed.pin = None;
    for told in [
        moved("a", "b"),
        decision("a", Kind::Pinned, Cause::Draining),
        decision("a", Kind::Assigned, Cause::New),
        bypassed,
    ] {
        let got = std::sync::Mutex::new(HeaderMap::new());
        let endpoint = service_fn(|request: http::Request<()>| {
            *got.lock().unwrap() = request.headers().clone();
            std::future::ready(Ok::<_, std::convert::Infallible>(http::Response::new(())))
        });
        let sent = GroupTagLayer::new().layer(endpoint);
        sent.oneshot(decided(told.clone())).await.unwrap();
        let mut request = request(Some(GATEWAY), &[]);
        *request.headers_mut() = got.into_inner().unwrap();
        let affinity = send(layer(), request).await.affinity.unwrap();
        assert_eq!(affinity.group(), told.group_label());
        assert_eq!(affinity.session(), told.session());
        assert_eq!(affinity.decision().kind, told.kind);
        assert_eq!(affinity.decision().cause, told.cause);
        let last = |moved: &tower_affinity_core::LastMove| {
            (moved.from.label().to_owned(), moved.at, moved.cause.clone())
        };
        assert_eq!(affinity.moved_from().map(last), told.moved_from().map(last));
    }
}

#[tokio::test]
async fn without_headers_there_is_nothing_to_know_and_nothing_to_count() {
    let seen = send(layer(), request(Some(GATEWAY), &[("accept", "a")])).await;
    assert!(seen.affinity.is_none());
    assert!(seen.counted.is_empty(), "{:?}", seen.counted);
}

#[tokio::test]
async fn headers_that_came_twice_are_nobodys() {
    for name in [
        "affinity-group",
        "affinity-session",
        "affinity-decision",
        "affinity-moved-from",
        "affinity-pin",
    ] {
        let mut headers = pinned();
        headers.push(("affinity-moved-from", "c3d4e5f; at=1; cause=gone"));
        headers.push(("affinity-pin", "x"));
        let value = headers.iter().find(|(known, _)| *known == name).unwrap().1;
        headers.push((name, value));
        let seen = send(layer(), request(Some(GATEWAY), &headers)).await;
        assert_nobody(&seen, "duplicates", name);
    }
}

#[tokio::test]
async fn headers_that_are_malformed_or_contradict_each_other_are_nobodys() {
    let replaced = |name: &'static str, value: Option<&'static str>| {
        let headers = pinned().into_iter().filter(|(known, _)| *known != name);
        let headers = headers.chain(value.map(|value| (name, value)));
        headers.collect::<Vec<_>>()
    };
    for (cause, name, value) in [
        ("malformed", "affinity-group", None),
        ("malformed", "affinity-group", Some("")),
        ("malformed", "affinity-group", Some("9f1c2ab, c3d4e5f")),
        ("malformed", "affinity-group", Some("\u{fc}")),
        ("malformed", "affinity-decision", None),
        ("malformed", "affinity-decision", Some("pinned")),
        ("malformed", "affinity-session", Some("42")),
        ("malformed", "affinity-moved-from", Some("c3d4e5f")),
        ("contradictory", "affinity-session", None),
        (
            "contradictory",
            "affinity-decision",
            Some("moved; cause=aborted"),
        ),
        (
            "contradictory",
            "affinity-decision",
            Some("assigned; cause=withheld"),
        ),
        (
            "contradictory",
            "affinity-decision",
            Some("refused; cause=early"),
        ),
    ] {
        let headers = replaced(name, value);
        let seen = send(layer(), request(Some(GATEWAY), &headers)).await;
        assert_nobody(&seen, cause, &format!("{name}: {value:?}"));
    }
    let alone = request(Some(GATEWAY), &[("affinity-session", SESSION)]);
    assert_nobody(&send(layer(), alone).await, "malformed", "a session alone");
}
