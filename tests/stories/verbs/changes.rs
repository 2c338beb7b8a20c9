//! All verbs but that of rollbacks.

use http::StatusCode;
use http::header::ETAG;
use serde_json::json;

use super::stage::{LATER, NEW, OLD, Stage};

#[tokio::test]
async fn show_tells_every_group_and_its_endpoints() {
    let stage = Stage::new(90, 10).await;
    let rollout = stage.admin().rollout().await;
    assert_eq!(rollout["stable"], OLD);
    assert!(
        rollout["revision"].as_u64().unwrap() > 1_700_000_000,
        "{rollout}"
    );
    let group = stage.admin().get(&format!("/v1/groups/{NEW}")).await.json();
    assert_eq!(
        (&group["state"], &group["weight"]),
        (&json!("active"), &json!(10))
    );
    assert_eq!(
        group["endpoints"][0]["address"],
        json!(stage.fleet.addresses(NEW)[0])
    );
    let unknown = stage.admin().get("/v1/groups/nobody").await;
    assert_eq!(unknown.problem(StatusCode::NOT_FOUND).0, "unknown-group");
}

#[tokio::test]
async fn register_makes_a_group_staged_and_with_weight_active() {
    let stage = Stage::new(1, 0).await;
    stage.register(0).await;
    assert_eq!(stage.state(LATER).await, "staged");
    assert_eq!(
        stage.drawn().await,
        OLD,
        "a staged group gets no new session"
    );
    let body = json!({ "name": LATER, "endpoints": ["127.0.0.1:1"] });
    let (kind, why) = stage
        .admin()
        .post("/v1/groups", &body)
        .await
        .problem(StatusCode::CONFLICT);
    assert_eq!(kind, "refused");
    assert!(why.contains("registered already (staged)"), "{why}");

    stage
        .admin()
        .weights(&json!({ OLD: 0, LATER: 5 }))
        .await
        .accepted();
    assert_eq!(
        (
            stage.state(LATER).await.as_str(),
            stage.drawn().await.as_str()
        ),
        ("active", LATER)
    );
    for body in [
        json!({ "name": "next" }),
        json!({ "name": "next", "endpoints": ["localhost:80"] }),
        json!({ "name": "not a name", "endpoints": ["127.0.0.1:1"] }),
        json!({ "name": "next", "endpoints": ["127.0.0.1:1"], "weight": 10_001 }),
        json!({ "name": "next", "endpoints": ["127.0.0.1:1"], "wight": 1 }),
    ] {
        let told = stage.admin().post("/v1/groups", &body).await;
        assert_eq!(
            told.problem(StatusCode::BAD_REQUEST).0,
            "bad-request",
            "for {body}"
        );
    }
}

#[tokio::test]
async fn weights_touch_only_new_sessions_and_only_the_named_groups() {
    let stage = Stage::new(1, 0).await;
    let mut client = stage.client();
    stage.get(&mut client).await;
    let before = stage.admin().rollout().await["revision"].as_u64().unwrap();
    let told = stage.admin().weights(&json!({ OLD: 0, NEW: 7 })).await;
    assert_eq!(told.revision(), before + 1);
    assert_eq!(told.headers[ETAG], format!("\"{}\"", before + 1));
    assert_eq!(
        (&told.json()["held"], &told.json()["changed"]),
        (&json!("all"), &json!(true))
    );
    assert_eq!(stage.drawn().await, NEW);
    assert_eq!(
        stage.get(&mut client).await.group(),
        Some(OLD),
        "a pinned session moved"
    );

    let same = stage.admin().weights(&json!({ NEW: 7 })).await;
    assert_eq!(
        (same.revision(), &same.json()["changed"]),
        (before + 1, &json!(false))
    );
    for (weights, why) in [
        (json!({ NEW: 0 }), "would be 0"),
        (json!({ "nobody": 1 }), "no group is named nobody"),
    ] {
        let (kind, detail) = stage
            .admin()
            .weights(&weights)
            .await
            .problem(StatusCode::CONFLICT);
        assert_eq!(kind, "refused");
        assert!(detail.contains(why), "{detail}");
    }
    for weights in [
        json!({}),
        json!({ NEW: -1 }),
        json!({ NEW: "7" }),
        json!([1]),
    ] {
        let told = stage.admin().weights(&weights).await;
        assert_eq!(
            told.problem(StatusCode::BAD_REQUEST).0,
            "bad-request",
            "for {weights}"
        );
    }
    assert_eq!(stage.admin().rollout().await["revision"], before + 1);
}

#[tokio::test]
async fn promote_takes_all_new_sessions_and_drains_the_others() {
    let stage = Stage::new(90, 10).await;
    let mut client = stage.client();
    let group = stage.get(&mut client).await.group().unwrap().to_owned();
    let told = stage.admin().verb(NEW, "promote", &json!({})).await;
    told.accepted();
    assert_eq!(told.json()["rollout"]["stable"], NEW);
    assert_eq!(
        (stage.state(OLD).await, stage.state(NEW).await),
        ("draining".into(), "active".into())
    );
    for _ in 0..20 {
        assert_eq!(stage.drawn().await, NEW);
    }
    assert_eq!(
        stage.get(&mut client).await.group(),
        Some(group.as_str()),
        "a session moved"
    );
    let drained = stage
        .admin()
        .get(&format!("/v1/groups/{OLD}/drained"))
        .await;
    assert_eq!(drained.status, StatusCode::CONFLICT);
    assert_eq!(drained.json()["drained"], false, "{}", drained.text());
}

#[tokio::test]
async fn drain_gives_the_weight_to_the_stable_group_and_keeps_the_sessions() {
    let stage = Stage::new(0, 10).await;
    let mut client = stage.client();
    assert_eq!(stage.get(&mut client).await.group(), Some(NEW));
    stage
        .admin()
        .verb(NEW, "drain", &json!({}))
        .await
        .accepted();
    assert_eq!(stage.admin().group(OLD).await["weight"], 10);
    assert_eq!(stage.drawn().await, OLD);
    let kept = stage.get(&mut client).await;
    assert_eq!(kept.group(), Some(NEW));
    let decision = stage.fleet.ledger().of(kept.request).decision().to_owned();
    assert_eq!(decision, "pinned; cause=draining");
    let refused = stage.admin().verb(OLD, "drain", &json!({})).await;
    let (_, why) = refused.problem(StatusCode::CONFLICT);
    assert!(
        why.contains("stable") && why.contains("promote another one first"),
        "{why}"
    );
}

#[tokio::test]
async fn restore_brings_the_group_back_without_its_sessions() {
    let stage = Stage::new(0, 1).await;
    let mut client = stage.client();
    stage.get(&mut client).await;
    stage
        .admin()
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    let mut away = client.tab();
    assert_eq!(stage.get(&mut client).await.group(), Some(OLD));
    let told = stage.admin().verb(NEW, "restore", &json!({})).await;
    told.accepted();
    let group = stage.admin().group(NEW).await;
    assert_eq!(
        (&group["state"], &group["generation"]),
        (&json!("staged"), &json!(2))
    );
    stage
        .admin()
        .weights(&json!({ NEW: 1, OLD: 0 }))
        .await
        .accepted();
    assert_eq!(stage.drawn().await, NEW, "it is served again");
    assert_eq!(
        stage.get(&mut client).await.group(),
        Some(OLD),
        "an old session came back"
    );
    let late = stage.get(&mut away).await;
    assert_eq!(
        late.group(),
        Some(OLD),
        "a pin of the old generation reached the restored group"
    );
    let (_, why) = stage
        .admin()
        .verb(NEW, "restore", &json!({}))
        .await
        .problem(StatusCode::CONFLICT);
    assert!(
        why.contains("is active") && why.contains("aborted"),
        "{why}"
    );
}

#[tokio::test]
async fn retire_waits_until_drained_unless_forced() {
    let stage = Stage::new(0, 1).await;
    let mut client = stage.client();
    stage.get(&mut client).await;
    let active = stage
        .admin()
        .verb(NEW, "retire", &json!({ "force": true }))
        .await;
    let (_, why) = active.problem(StatusCode::CONFLICT);
    assert!(
        why.contains("is active") && why.contains("drained"),
        "{why}"
    );
    assert_eq!(active.json()["can_be_forced"], false);

    stage
        .admin()
        .verb(NEW, "drain", &json!({}))
        .await
        .accepted();
    let early = stage.admin().verb(NEW, "retire", &json!({})).await;
    let (kind, why) = early.problem(StatusCode::CONFLICT);
    assert_eq!(
        (kind.as_str(), &early.json()["can_be_forced"]),
        ("refused", &json!(true))
    );
    assert!(why.contains("not drained before"), "{why}");
    assert_eq!(stage.get(&mut client).await.group(), Some(NEW));

    stage
        .admin()
        .verb(NEW, "retire", &json!({ "force": true }))
        .await
        .accepted();
    let gone = stage.get(&mut client).await;
    assert_eq!((gone.status, gone.group()), (StatusCode::OK, Some(OLD)));
    assert_eq!(
        stage.fleet.ledger().of(gone.request).decision(),
        "moved; cause=gone"
    );
    assert_eq!(stage.get(&mut client).await.group(), Some(OLD));
}
