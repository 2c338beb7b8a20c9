//! The script against a stand-in for the gateway: it shows breaks where there is no affinity, and
//! would notice a gateway that keeps sessions apart from what it claims.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{net::TcpListener, time::Duration};

use axum::body::Body;
use http::{Request, StatusCode};
use hyper_util::{client::legacy::Client as Pool, rt::TokioExecutor};

use super::{
    acts::Pace,
    board::Affinity,
    fleet::Fleet,
    flow::{A, B},
    gateway::{Gateway, Places},
    screen::Screen,
    show,
    standin::StandIn,
    verb::{Console, Demo},
};

const ONCE: Demo = Demo {
    once: true,
    json: true,
};

fn quick() -> Pace {
    let think = Duration::from_millis(5)..Duration::from_millis(20);
    Pace {
        gap: Duration::from_millis(1),
        think,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_keeps_no_session_together_is_noticed() {
    let fleet = Fleet::start().await.unwrap();
    let on = StandIn::open(Affinity::Off, &fleet, Places::free())
        .await
        .unwrap();
    let mut screen = Screen::new(std::io::sink(), true);
    let report = show::both(&on, &fleet, quick(), &mut screen).await.unwrap();
    let failures = report.failures();
    assert!(
        failures
            .iter()
            .any(|failure| failure.ends_with("sessions broke with affinity")),
        "{failures:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_plays_both_runs_and_ends_with_one_line_of_json() {
    let (mut human, mut result) = (Vec::new(), Vec::new());
    let console = Console {
        human: Box::new(&mut human),
        terminal: false,
        result: Box::new(&mut result),
    };
    ONCE.perform::<StandIn>(Places::free(), quick(), console)
        .await
        .unwrap();
    let result = String::from_utf8(result).unwrap();
    assert_eq!(result.lines().count(), 1, "{result}");
    let line: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(line["affinity_on"]["broken_in_rollout"], 0, "{line}");
    let human = String::from_utf8(human).unwrap();
    for order in [
        "affinity off, operator: weights 9f1c2ab=50 c3d4e5f=50",
        "affinity on, operator: promote c3d4e5f",
        "affinity on, operator: abort 7b20d94",
    ] {
        assert!(human.contains(order), "{order} is not in\n{human}");
    }
    let last: Vec<_> = human.lines().rev().take(2).collect();
    assert!(last[0].starts_with("affinity on:"), "{human}");
    assert!(last[1].starts_with("affinity off:"), "{human}");
}

#[tokio::test]
async fn an_endpoint_refuses_what_was_meant_for_another_commit() {
    let fleet = Fleet::start().await.unwrap();
    let pool = Pool::builder(TokioExecutor::new()).build_http::<Body>();
    for (of, meant, status) in [
        (&A, Some(A.commit), StatusCode::OK),
        (&A, Some(B.commit), StatusCode::MISDIRECTED_REQUEST),
        (&B, None, StatusCode::OK),
    ] {
        for endpoint in fleet.endpoints(of.commit) {
            let mut request = Request::post(format!("http://{endpoint}/flow/start"));
            if let Some(meant) = meant {
                request = request.header("affinity-group", meant);
            }
            let answer = pool.request(request.body(Body::empty()).unwrap()).await;
            let answer = answer.unwrap();
            assert_eq!(answer.status(), status, "{} for {meant:?}", of.commit);
            let marked = answer.headers().contains_key("affinity-misdirected");
            assert_eq!(marked, status == StatusCode::MISDIRECTED_REQUEST);
        }
    }
}

#[tokio::test]
async fn a_taken_port_is_told_before_anything_is_shown() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port();
    let mut human = Vec::new();
    let console = Console {
        human: Box::new(&mut human),
        terminal: false,
        result: Box::new(std::io::sink()),
    };
    let places = Places::loopback(port, 0);
    let fault = ONCE
        .perform::<StandIn>(places, quick(), console)
        .await
        .unwrap_err();
    assert!(
        fault.to_string().contains(&format!("port {port}")),
        "{fault}"
    );
    assert_eq!(human, b"");
}
