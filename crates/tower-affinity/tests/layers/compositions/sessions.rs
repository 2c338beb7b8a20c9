//! A session of `tower-sessions` and ours, side by side.

use axum::body::Body;
use axum::routing::get;
use axum::{Extension, Router};
use http::Request;
use http_body_util::BodyExt;
use tower::ServiceExt;
use tower_affinity::Affinity;
use tower_sessions::{MemoryStore, Session, SessionManagerLayer};

use crate::support::{COOKIE_NAME, Site, texts};

async fn count(Extension(session): Extension<Session>, affinity: Affinity) -> String {
    let seen: u32 = session.get("seen").await.unwrap().unwrap_or_default();
    session.insert("seen", seen + 1).await.unwrap();
    format!("{} {seen}", affinity.group())
}

/// The answer's body, and the cookies of a client that had `cookies` before.
async fn visit(app: &Router, cookies: &mut Vec<(String, String)>) -> String {
    let sent: Vec<_> = cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mut request = Request::builder().uri("/");
    if !sent.is_empty() {
        request = request.header("cookie", sent.join("; "));
    }
    let request = request.body(Body::empty()).unwrap();
    let answer = app.clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    for line in texts(answer.headers(), "set-cookie") {
        let (name, rest) = line.split_once('=').unwrap();
        let value = rest.split(';').next().unwrap().to_owned();
        cookies.retain(|(known, _)| known != name);
        cookies.push((name.to_owned(), value));
    }
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn in_either_order_both_sessions_live_and_neither_takes_the_others_cookie() {
    let site = Site::new();
    let router = || Router::new().route("/", get(count));
    let theirs = || SessionManagerLayer::new(MemoryStore::default());
    let apps = [
        router().layer(theirs()).layer(site.layer.clone()),
        router().layer(site.layer.clone()).layer(theirs()),
    ];
    for app in apps {
        let mut cookies = Vec::new();
        let first = visit(&app, &mut cookies).await;
        let group = first.strip_suffix(" 0").expect("a new session").to_owned();
        let mut names: Vec<_> = cookies.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, [COOKIE_NAME, "id"]);
        for seen in 1..4 {
            assert_eq!(visit(&app, &mut cookies).await, format!("{group} {seen}"));
        }
    }
}
