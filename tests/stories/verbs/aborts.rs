//! The verb of rollbacks.

use affinity_tests::config::{COOKIE, Config};
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use serde_json::json;

use super::stage::{LATER, NEW, OLD, Stage};

#[tokio::test]
async fn abort_takes_the_stable_group_or_the_named_one() {
    let stage = Stage::new(0, 10).await;
    stage.register(0).await;
    let mut client = stage.client();
    assert_eq!(stage.get(&mut client).await.group(), Some(NEW));
    let to = async |target: &str| {
        stage
            .admin()
            .verb(NEW, "abort", &json!({ "to": target }))
            .await
    };
    let (_, why) = to(LATER).await.problem(StatusCode::CONFLICT);
    assert!(
        why.contains(LATER) && why.contains(OLD),
        "no possible target is named: {why}"
    );

    let told = stage.admin().verb(NEW, "abort", &json!({})).await;
    let revision = told.revision();
    let group = stage.admin().group(NEW).await;
    assert_eq!(
        (&group["state"], &group["abort"]["target"]),
        (&json!("aborted"), &json!(OLD))
    );
    assert_eq!(
        stage.admin().group(OLD).await["weight"],
        10,
        "it takes the weight"
    );
    assert_eq!(stage.get(&mut client).await.group(), Some(OLD));
    assert_eq!(stage.drawn().await, OLD);

    for again in [json!({}), json!({ "to": OLD })] {
        let again = stage.admin().verb(NEW, "abort", &again).await;
        let same = "repeated, it is the same answer";
        assert_eq!(again.revision(), revision, "{same}");
    }
    let refused = to(LATER).await;
    let (_, why) = refused.problem(StatusCode::CONFLICT);
    assert!(why.contains("never changes") && why.contains(OLD), "{why}");
    assert_eq!(refused.json()["can_be_forced"], false);
    assert_eq!(
        stage.admin().group(NEW).await["abort"]["target"],
        OLD,
        "the target never changes"
    );
}

#[tokio::test]
async fn abort_of_the_stable_group_goes_back_to_the_former_one() {
    let stage = Stage::new(1, 0).await;
    stage
        .admin()
        .verb(NEW, "promote", &json!({}))
        .await
        .accepted();
    let mut client = stage.client();
    assert_eq!(stage.get(&mut client).await.group(), Some(NEW));
    stage
        .admin()
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    assert_eq!(stage.admin().rollout().await["stable"], OLD);
    assert_eq!(stage.get(&mut client).await.group(), Some(OLD));
    let (_, why) = stage
        .admin()
        .verb(OLD, "abort", &json!({}))
        .await
        .problem(StatusCode::CONFLICT);
    assert!(
        [
            "possible targets",
            "name a target",
            "no other group that could"
        ]
        .iter()
        .any(|told| why.contains(told)),
        "{why}"
    );
}

#[tokio::test]
async fn abort_with_stay_keeps_sessions_until_it_is_replaced() {
    let stage = Stage::new(0, 1).await;
    let mut client = stage.client();
    stage.get(&mut client).await;
    let stay = json!({ "policy": "stay", "within": "10m" });
    let first = stage.admin().verb(NEW, "abort", &stay).await.revision();
    let stays = stage.get(&mut client).await;
    assert_eq!(stays.group(), Some(NEW));
    assert_eq!(
        stage.fleet.ledger().of(stays.request).decision(),
        "pinned; cause=aborted_stay"
    );
    assert_eq!(
        stage.drawn().await,
        OLD,
        "a new session went to an aborted group"
    );
    let long = json!({ "policy": "stay", "within": "5h" });
    let (_, why) = stage
        .admin()
        .verb(NEW, "abort", &long)
        .await
        .problem(StatusCode::CONFLICT);
    assert!(why.contains("14400s"), "the bound is not told: {why}");
    let now = stage
        .admin()
        .verb(NEW, "abort", &json!({ "policy": "move" }))
        .await
        .revision();
    assert!(now > first, "another policy is a new revision");
    assert_eq!(stage.get(&mut client).await.group(), Some(OLD));
}

#[tokio::test]
async fn abort_with_end_answers_409_and_clears_the_pin() {
    let edit = |config: &mut Config| {
        let scope = "[[scope]]\npath = \"/*\"\nrestart_url = \"/start\"\n";
        config.sections = scope.to_owned();
    };
    let stage = Stage::with(0, 1, edit).await;
    let (mut client, mut browser) = (stage.client(), stage.client());
    stage.get(&mut client).await;
    stage.get(&mut browser).await;
    stage
        .admin()
        .verb(NEW, "abort", &json!({ "policy": "end" }))
        .await
        .accepted();

    let ended = stage.get(&mut client).await;
    assert_eq!((ended.status, ended.group()), (StatusCode::CONFLICT, None));
    assert_eq!(ended.headers[CONTENT_TYPE], "application/problem+json");
    assert!(
        ended.json()["type"]
            .as_str()
            .unwrap()
            .contains("session-ended"),
        "{}",
        ended.json()
    );
    assert_eq!(client.jar.value(COOKIE), None, "the pin is not cleared");
    assert_eq!(
        stage.get(&mut client).await.group(),
        Some(OLD),
        "it may begin anew"
    );

    let navigation = Request::get("/")
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-dest", "document")
        .header("accept", "text/html")
        .body(http_body_util::Full::default())
        .unwrap();
    let sent = browser.send(stage.replica.address(), navigation).await;
    assert_eq!(
        (sent.status, &sent.headers["location"]),
        (StatusCode::SEE_OTHER, &"/start".parse().unwrap())
    );
    assert_eq!(browser.jar.value(COOKIE), None);
    stage.history.balances(stage.fleet.ledger());
}

#[tokio::test]
async fn abort_checks_that_the_target_is_ready_unless_forced() {
    let health = |config: &mut Config| {
        config.sections = "[upstream]\nhealth = { path = \"/livez\", interval = \"100ms\", \
                           unhealthy_after = 1, healthy_after = 1 }\n"
            .to_owned();
    };
    let mut stage = Stage::with(0, 1, health).await;
    stage.fleet.kill(OLD);
    affinity_tests::until("an unhealthy endpoint", async || {
        let group = stage.admin().group(OLD).await;
        (group["endpoints"][0]["state"] == "unhealthy").then_some(())
    })
    .await;
    let refused = stage.admin().verb(NEW, "abort", &json!({})).await;
    let (_, why) = refused.problem(StatusCode::CONFLICT);
    assert!(why.contains("no ready endpoint"), "{why}");
    assert_eq!(refused.json()["can_be_forced"], true);
    assert_eq!(stage.state(NEW).await, "active");
    stage
        .admin()
        .verb(NEW, "abort", &json!({ "force": true }))
        .await
        .accepted();
    assert_eq!(stage.state(NEW).await, "aborted");
}
