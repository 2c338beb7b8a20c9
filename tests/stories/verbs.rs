//! One story for each verb, over the admin API.

use affinity_tests::Scratch;
use affinity_tests::admin::Admin;
use affinity_tests::client::{Answer, Client};
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HOST, ORIGIN};
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";
const LATER: &str = "0a1b2c3";

/// Two groups in the rollout, a third one that only runs.
struct Stage {
    fleet: Fleet,
    replica: Replica,
    history: History,
    _dir: Scratch,
}

impl Stage {
    async fn new(old: u16, new: u16) -> Self {
        Self::with(old, new, |_| ()).await
    }

    async fn with(old: u16, new: u16, edit: impl FnOnce(&mut Config)) -> Self {
        let fleet = Fleet::start(&[OLD, NEW, LATER], 1).await;
        let dir = Scratch::new();
        let mut config = Config::new(&fleet, &[(OLD, old), (NEW, new)]);
        edit(&mut config);
        let replica = Replica::start(&dir, &config).await;
        Self {
            fleet,
            replica,
            history: History::default(),
            _dir: dir,
        }
    }

    fn admin(&self) -> &Admin {
        &self.replica.admin
    }

    fn client(&self) -> Client {
        Client::new(0, &self.history)
    }

    async fn get(&self, client: &mut Client) -> Answer {
        client.get(self.replica.address(), "/").await
    }

    /// The group that a new session is drawn for.
    async fn drawn(&self) -> String {
        let answer = self.get(&mut self.client()).await;
        answer.group().expect("a new session is served").to_owned()
    }

    async fn state(&self, group: &str) -> String {
        self.admin().group(group).await["state"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    async fn register(&self, weight: u16) {
        let endpoints = self.fleet.addresses(LATER);
        let body = json!({ "name": LATER, "endpoints": endpoints, "weight": weight });
        self.admin().post("/v1/groups", &body).await.accepted();
    }
}

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

    let again = stage
        .admin()
        .verb(NEW, "abort", &json!({ "to": LATER }))
        .await;
    assert_eq!(
        again.revision(),
        revision,
        "repeated, it is the same answer"
    );
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
        why.contains("possible targets") || why.contains("name a target"),
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
        (group["endpoints"][0]["state"] != "ready").then_some(())
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
