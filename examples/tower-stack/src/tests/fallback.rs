//! The stack as the fallback of a router.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;
use tower_affinity::Groups;

use super::site::{Jar, NEW, OLD, check, layer, site};
use crate::app;

async fn send(app: &Router, request: Request<Body>, jar: &mut Jar) -> (StatusCode, String) {
    let response = app.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    jar.keep(&parts.headers);
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn each_session_stays_in_one_group_behind_a_router() {
    let (affinity, groups) = site().await;
    let app = app(affinity, groups.clone());
    let mut sessions = Vec::new();
    for _ in 0..32 {
        let mut jar = Jar::default();
        let mut answers = Vec::new();
        for _ in 0..4 {
            // what a client says under our names never arrives, whatever way it tries
            let request = jar
                .request()
                .header("affinity-group", "forged")
                .header("connection", "affinity-group");
            let request = request.body(Body::empty()).unwrap();
            answers.push(send(&app, request, &mut jar).await);
        }
        sessions.push(answers);
    }
    check(&sessions);
    for group in [OLD, NEW] {
        let open = groups.in_flight(&group.parse().unwrap());
        assert_eq!(open, 0, "requests of {group} never ended");
    }
}

#[tokio::test]
async fn a_route_of_the_router_needs_no_session() {
    let app = app(layer(&Groups::default()), Groups::default());
    let request = Request::get("/livez").body(Body::empty()).unwrap();
    let (status, _) = send(&app, request, &mut Jar::default()).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn without_an_endpoint_the_answer_says_so() {
    let app = app(layer(&Groups::default()), Groups::default());
    let request = Jar::default().request().body(Body::empty()).unwrap();
    let (status, body) = send(&app, request, &mut Jar::default()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(body.contains("no-ready-endpoint"), "{body}");
}

#[tokio::test]
async fn a_group_whose_only_endpoint_is_gone_is_answered_and_not_an_error() {
    let groups = Groups::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for group in [OLD, NEW] {
        groups.update(&group.parse().unwrap(), [address]);
    }
    let app = app(layer(&groups), groups);
    let request = Jar::default().request().body(Body::empty()).unwrap();
    let (status, body) = send(&app, request, &mut Jar::default()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(body.contains("no-ready-endpoint"), "{body}");
}
