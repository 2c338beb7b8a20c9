//! How requests are counted.

use std::convert::Infallible;
use std::task::Poll;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity_core::{Cause, Cohort, GroupId, Kind};
use tower_affinity_testing::{id, name};

use crate::balance::{Groups, Lease, Wanted};
use crate::fixtures::{Metrics, Script, Step, decided, decision, moved, pinned, poll_body};
use crate::record::{GroupMetricsLayer, MetricsBody};

/// The answer to `request`, counted.
async fn answer<B: Body>(
    metrics: &Metrics,
    request: Request<()>,
    response: Response<B>,
) -> Response<MetricsBody<B>> {
    let mut response = Some(response);
    let inner = service_fn(move |_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(response.take().unwrap()))
    });
    let layer = GroupMetricsLayer::new().recorder(metrics.recorder.clone());
    layer.layer(inner).oneshot(request).await.unwrap()
}

fn script(steps: impl IntoIterator<Item = Step>) -> Response<Script> {
    Response::new(Script::new(steps))
}

fn requests(group: &str, rest: &str) -> String {
    format!("affinity_requests_total{{group={group},{rest}}}")
}

/// What one pinned request to group `a` that ended so leaves behind.
fn ended(class: &str) -> std::collections::BTreeMap<String, f64> {
    let labels = format!("cohort=current,decision=pinned,cause=ok,code_class={class}");
    let duration = "affinity_request_duration_seconds{group=a,cohort=current}";
    [(requests("a", &labels), 1.0), (duration.to_owned(), 1.0)].into()
}

const IN_FLIGHT: &str = "affinity_requests_in_flight{group=a}";

#[tokio::test]
async fn a_request_is_counted_when_its_body_has_ended() {
    let metrics = Metrics::new();
    let body = script([Step::Data("x"), Step::End]);
    let mut body = answer(&metrics, pinned("a"), body).await.into_body();
    assert!(poll_body(&mut body).is_ready());
    assert_eq!(
        metrics.take(),
        [(IN_FLIGHT.to_owned(), 1.0)].into(),
        "not yet"
    );
    assert!(matches!(poll_body(&mut body), Poll::Ready(None)));
    drop(body);
    let mut seen = metrics.take();
    // the gauge was read, and thereby set to 0, while the request ran
    assert_eq!(seen.remove(IN_FLIGHT), Some(-1.0));
    assert_eq!(seen, ended("2xx"));
}

#[tokio::test]
async fn a_client_that_goes_away_is_an_abort() {
    let metrics = Metrics::new();
    let inner =
        service_fn(|_: Request<()>| std::future::pending::<Result<Response<Script>, Infallible>>());
    let layer = GroupMetricsLayer::new().recorder(metrics.recorder.clone());
    let mut waiting = tokio_test::task::spawn(layer.layer(inner).oneshot(pinned("a")));
    assert!(waiting.poll().is_pending());
    drop(waiting);
    assert_eq!(metrics.take(), ended("client_abort"), "before the answer");

    let response = script([Step::Data("x")]);
    let mut body = answer(&metrics, pinned("a"), response).await.into_body();
    assert!(poll_body(&mut body).is_ready());
    drop(body);
    assert_eq!(metrics.take(), ended("client_abort"), "within the body");
}

#[tokio::test]
async fn a_failure_is_an_error() {
    let metrics = Metrics::new();
    let inner = service_fn(|_: Request<()>| async { Err::<Response<Script>, _>("failed") });
    let layer = GroupMetricsLayer::new().recorder(metrics.recorder.clone());
    assert!(layer.layer(inner).oneshot(pinned("a")).await.is_err());
    let mut failed = ended("error");
    failed.insert(FAILED.to_owned(), 1.0);
    assert_eq!(metrics.take(), failed, "no answer");

    let response = script([Step::Data("x"), Step::Broken]);
    let mut body = answer(&metrics, pinned("a"), response).await.into_body();
    assert!(poll_body(&mut body).is_ready());
    assert!(matches!(poll_body(&mut body), Poll::Ready(Some(Err(_)))));
    drop(body);
    assert_eq!(
        metrics.take(),
        ended("error"),
        "a broken body: of the same session"
    );

    let metrics = Metrics::new();
    let response = script([Step::Data("x"), Step::Broken]);
    let mut body = answer(&metrics, pinned("a"), response).await.into_body();
    assert!(poll_body(&mut body).is_ready());
    assert!(!metrics.take().contains_key(FAILED), "nothing is wrong yet");
    assert!(matches!(poll_body(&mut body), Poll::Ready(Some(Err(_)))));
    drop(body);
    assert_eq!(metrics.take().get(FAILED), Some(&1.0), "a broken body");
}

const FAILED: &str = "affinity_sessions_failed_total{group=a,cohort=current}";

#[tokio::test]
async fn a_status_in_the_trailers_is_the_sessions_failure() {
    for (status, failed) in [
        ("0", None),
        ("5", None),
        ("13", Some(1.0)),
        ("14", Some(1.0)),
    ] {
        let metrics = Metrics::new();
        let response = script([Step::Data("x"), Step::Trailers(status), Step::End]);
        let mut body = answer(&metrics, pinned("a"), response).await.into_body();
        for _ in 0..3 {
            assert!(poll_body(&mut body).is_ready());
        }
        drop(body);
        let seen = metrics.take();
        assert_eq!(seen.get(FAILED).copied(), failed, "grpc-status {status}");
    }
}

#[tokio::test]
async fn a_whole_body_is_no_abort_though_nobody_asks_for_its_end() {
    let metrics = Metrics::new();
    let whole = Response::new(Full::new(Bytes::from("whole")));
    let mut body = answer(&metrics, pinned("a"), whole).await.into_body();
    assert!(poll_body(&mut body).is_ready());
    drop(body);
    assert_eq!(metrics.take(), ended("2xx"));

    let mut head = pinned("a");
    *head.method_mut() = Method::HEAD;
    drop(answer(&metrics, head, script([Step::Data("never sent")])).await);
    assert_eq!(
        metrics.take(),
        ended("2xx"),
        "the answer to HEAD has no body"
    );

    for (status, class) in [(204, "2xx"), (304, "3xx")] {
        let mut response = script([]);
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        drop(answer(&metrics, pinned("a"), response).await);
        assert_eq!(metrics.take(), ended(class), "{status} has no body");
    }
}

#[tokio::test]
async fn a_tunnel_is_counted_when_its_lease_ends() {
    let metrics = Metrics::new();
    let groups = Groups::default();
    groups.update(&name("a"), ["127.0.0.1:1".parse().unwrap()]);
    let wanted = Wanted {
        id: &id("a"),
        pinned: true,
        bound: None,
        avoid: &[],
    };
    let lease: Lease = groups.acquire(&wanted).unwrap();
    let mut response = script([]);
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.extensions_mut().insert(lease.clone());
    drop(answer(&metrics, pinned("a"), response).await);
    let running = metrics.take();
    assert_eq!(
        running,
        [(IN_FLIGHT.to_owned(), 1.0)].into(),
        "the tunnel runs"
    );
    drop(lease);
    let mut seen = metrics.take();
    assert_eq!(seen.remove(IN_FLIGHT), Some(-1.0));
    assert_eq!(seen, ended("1xx"));
}

#[tokio::test]
async fn the_sum_is_the_number_of_requests() {
    let metrics = Metrics::new();
    let mut refused = decision("a", Kind::Refused, Cause::Behind);
    (refused.group, refused.pin, refused.cohort) = (None, None, Cohort::None);
    metrics
        .recorder
        .refused(&refused, StatusCode::SERVICE_UNAVAILABLE);
    metrics.recorder.early(StatusCode::BAD_REQUEST);
    for status in [200, 302, 404, 500] {
        let mut response = script([Step::End]);
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        let mut body = answer(&metrics, pinned("a"), response).await.into_body();
        assert!(poll_body(&mut body).is_ready());
    }
    for request in [pinned("b"), Request::new(())] {
        drop(answer(&metrics, request, script([])).await);
    }
    let seen = metrics.take();
    let counted = seen
        .iter()
        .filter(|(series, _)| series.starts_with("affinity_requests_total"));
    assert_eq!(
        counted.map(|(_, count)| count).sum::<f64>(),
        8.0,
        "{seen:#?}"
    );
    for series in [
        requests(
            "unknown",
            "cohort=none,decision=refused,cause=behind,code_class=5xx",
        ),
        requests(
            "none",
            "cohort=none,decision=refused,cause=early,code_class=4xx",
        ),
        requests(
            "unknown",
            "cohort=none,decision=unknown,cause=none,code_class=client_abort",
        ),
        requests(
            "a",
            "cohort=current,decision=pinned,cause=ok,code_class=3xx",
        ),
        requests(
            "a",
            "cohort=current,decision=pinned,cause=ok,code_class=4xx",
        ),
        requests(
            "a",
            "cohort=current,decision=pinned,cause=ok,code_class=5xx",
        ),
    ] {
        assert_eq!(seen.get(&series), Some(&1.0), "{series} in {seen:#?}");
    }
    assert!(
        seen.keys().all(|series| !series.contains("in_flight")),
        "{seen:#?}"
    );
}

#[tokio::test]
async fn new_and_moved_sessions_are_counted_with_their_answer() {
    let metrics = Metrics::new();
    let mut withheld = decision("b", Kind::Assigned, Cause::Withheld);
    withheld.pin = None;
    for decision in [
        decision("a", Kind::Assigned, Cause::New),
        decision("a", Kind::Assigned, Cause::Malformed),
        withheld,
        moved("a", "b"),
        decision("b", Kind::Pinned, Cause::Ok),
    ] {
        drop(answer(&metrics, decided(decision), script([])).await);
    }
    let seen = metrics.take();
    assert_eq!(
        seen.get("affinity_sessions_assigned_total{group=a}"),
        Some(&2.0)
    );
    assert_eq!(
        seen.get("affinity_sessions_assigned_total{group=b}"),
        None,
        "no session"
    );
    assert_eq!(
        seen.get("affinity_moves_total{from=a,to=b,cause=aborted}"),
        Some(&1.0)
    );

    let inner = service_fn(|_: Request<()>| async { Err::<Response<Script>, _>("failed") });
    let layer = GroupMetricsLayer::new().recorder(metrics.recorder.clone());
    assert!(
        layer
            .layer(inner)
            .oneshot(decided(moved("a", "b")))
            .await
            .is_err()
    );
    let seen = metrics.take();
    assert!(
        seen.keys().all(|s| !s.starts_with("affinity_moves")),
        "no answer, no move"
    );
}

#[tokio::test]
async fn every_decision_has_a_series_of_its_own() {
    let metrics = Metrics::new();
    for kind in Kind::ALL {
        for cause in Cause::ALL {
            for cohort in Cohort::ALL {
                let mut decision = decision("a", kind, *cause);
                decision.group = Some(GroupId::new(name("a"), 2));
                decision.cohort = cohort;
                drop(answer(&metrics, decided(decision), script([])).await);
            }
        }
    }
    let seen = metrics.take();
    let series = seen
        .iter()
        .filter(|(series, _)| series.starts_with("affinity_requests_total"));
    let counts: Vec<f64> = series.map(|(_, count)| *count).collect();
    assert_eq!(
        counts.len(),
        Kind::ALL.len() * Cause::ALL.len() * Cohort::ALL.len()
    );
    assert!(
        counts.iter().all(|count| *count == 1.0),
        "two decisions share a series"
    );
}

#[tokio::test]
async fn names_that_somebody_tells_make_no_series_without_bound() {
    let metrics = Metrics::new();
    for nth in 0..1_000 {
        let request = decided(decision(&format!("g{nth}"), Kind::Pinned, Cause::Ok));
        drop(answer(&metrics, request, script([])).await);
    }
    let seen = metrics.take();
    let requests = seen
        .iter()
        .filter(|(series, _)| series.starts_with("affinity_requests_total"));
    let counts: Vec<f64> = requests.map(|(_, count)| *count).collect();
    assert_eq!(
        counts.iter().sum::<f64>(),
        1_000.0,
        "every request is counted"
    );
    assert!(
        counts.len() <= 257,
        "{} groups are counted apart",
        counts.len()
    );
    let unknown = requests_of("unknown", &seen);
    assert_eq!(unknown, 744.0, "the rest is of no group that is known");
}

fn requests_of(group: &str, seen: &std::collections::BTreeMap<String, f64>) -> f64 {
    let begin = requests(group, "");
    let begin = begin.trim_end_matches('}');
    seen.iter()
        .filter(|(series, _)| series.starts_with(begin))
        .map(|(_, count)| count)
        .sum()
}
