//! Who may change the rollout, and on what state.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::stage::{NEW, Stage};

#[tokio::test]
async fn a_change_needs_the_token_its_type_and_the_right_host() {
    let stage = Stage::new(1, 0).await;
    let before = stage.admin().rollout().await;
    let token = format!("Bearer {}", stage.admin().token());
    let (json, wrong) = (
        "application/json",
        "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    );
    let drain = || Request::post(format!("/v1/groups/{NEW}/drain"));
    let typed = || drain().header(CONTENT_TYPE, json);
    for (request, status, why) in [
        (typed(), 401, "no token"),
        (typed().header(AUTHORIZATION, wrong), 401, "a wrong token"),
        (typed().header(AUTHORIZATION, &token[7..]), 401, "no scheme"),
        (
            drain().header(AUTHORIZATION, &token),
            415,
            "no content type",
        ),
        (
            drain()
                .header(AUTHORIZATION, &token)
                .header(CONTENT_TYPE, "text/plain"),
            415,
            "a form",
        ),
        (
            typed()
                .header(AUTHORIZATION, &token)
                .header(HOST, "evil.example"),
            403,
            "a foreign host",
        ),
        (
            typed()
                .header(AUTHORIZATION, &token)
                .header(ORIGIN, "http://evil.example"),
            403,
            "a foreign origin",
        ),
    ] {
        let told = stage
            .admin()
            .request(request, Bytes::from_static(b"{}"))
            .await;
        assert_eq!(told.status.as_u16(), status, "{why}: {}", told.text());
        assert!(
            !told.text().contains(stage.admin().token()),
            "the token is told"
        );
    }
    assert_eq!(
        stage.admin().rollout().await,
        before,
        "something was changed"
    );
}

#[tokio::test]
async fn a_stale_revision_is_refused_but_never_for_an_abort() {
    let stage = Stage::new(1, 1).await;
    let seen = stage.admin().rollout().await["revision"].as_u64().unwrap();
    let fresh = stage.admin().weights(&json!({ NEW: 2 })).await.revision();
    let change = async |path: &str, body: &Value, revision: u64| {
        let method = if path.ends_with("weights") {
            Method::PUT
        } else {
            Method::POST
        };
        let revision = format!("\"{revision}\"");
        stage
            .admin()
            .change(method, path, body, &[("if-match", &revision)])
            .await
    };
    let weights = json!({ NEW: 3 });
    let stale = change("/v1/rollout/weights", &weights, seen).await;
    let (kind, why) = stale.problem(StatusCode::PRECONDITION_FAILED);
    assert_eq!(kind, "stale-revision");
    assert!(
        why.contains(&fresh.to_string()),
        "the present revision is not told: {why}"
    );
    assert_eq!(
        change("/v1/rollout/weights", &weights, fresh)
            .await
            .revision(),
        fresh + 1
    );
    let abort = format!("/v1/groups/{NEW}/abort");
    assert_eq!(change(&abort, &json!({}), seen).await.revision(), fresh + 2);
}
