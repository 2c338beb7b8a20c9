//! Previews: what they say beforehand is what then happens, and nothing happens by them.

use std::sync::Arc;
use std::time::Duration;

use affinity_gateway::Gateway;
use affinity_tests::admin::{Admin, Told};
use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Ended, run};
use affinity_tests::replica::{Replica, load};
use affinity_tests::{Scratch, until};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tower_affinity::core::{Clock, Timestamp};
use tower_affinity_testing::HandClock;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";
const LATER: &str = "0a1b2c3";

const START: Timestamp = Timestamp::from_secs(1_800_000_000);
const TI: Duration = Duration::from_secs(30 * 60);

/// A gateway whose clock is moved by hand.
struct Stage {
    fleet: Fleet,
    replica: Replica,
    clock: HandClock,
    history: History,
    dir: Scratch,
}

impl Stage {
    async fn new(old: u16, new: u16) -> Self {
        let fleet = Fleet::start(&[OLD, NEW, LATER], 1).await;
        let mut config = Config::new(&fleet, &[(OLD, old), (NEW, new)]);
        config.group(OLD).more = "max_in_flight = 40".to_owned();
        let (dir, clock) = (Scratch::new(), HandClock::at(START));
        let file = config.write(&dir, "gateway.toml");
        let settings = load(&file);
        let token = settings.listen.admin_token_file.clone();
        let gateway = Gateway::start_with_clock(settings, Arc::new(clock.clone())).await;
        let gateway = gateway.unwrap_or_else(|e| panic!("the gateway does not start: {e}"));
        let replica = Replica {
            admin: Admin::new(gateway.admin(), &token),
            gateway,
            file,
        };
        Self {
            fleet,
            replica,
            clock,
            history: History::default(),
            dir,
        }
    }

    /// All that a change could touch, as far as an outsider sees it.
    async fn seen(&self) -> (Value, Value) {
        let file = self.dir.path().join("gateway-state.json");
        let state = std::fs::read(file).expect("a state is kept");
        let mut state: Value = serde_json::from_slice(&state).expect("JSON");
        // the last expiry of pins is kept now and then
        let kept = state["state"]["rollout"].take();
        assert_ne!(kept, Value::Null, "no rollout is kept");
        (self.replica.admin.rollout().await, kept)
    }

    /// The preview of a group's verb, which does nothing.
    async fn preview(&self, group: &str, verb: &str, body: &Value) -> Value {
        let before = self.seen().await;
        let path = format!("/v1/groups/{group}/{verb}?preview=true");
        let told = self.replica.admin.post(&path, body).await;
        assert_eq!(self.seen().await, before, "the preview did something");
        told.accepted();
        told.json()
    }

    /// Clients with sessions that have returned their pins; with the group of each.
    async fn sessions(&self, count: u64) -> Vec<(Client, String)> {
        let mut sessions = Vec::new();
        for number in 0..count {
            let mut client = Client::new(number, &self.history);
            let first = self.get(&mut client).await;
            assert_eq!(self.get(&mut client).await, first);
            sessions.push((client, first));
        }
        sessions
    }

    async fn get(&self, client: &mut Client) -> String {
        let answer = client.get(self.replica.address(), "/").await;
        answer.group().unwrap_or("nobody").to_owned()
    }

    /// Runs `gateway rollout`.
    async fn rollout(&self, line: &str) -> Ended {
        let admin = format!("http://{}", self.replica.admin.address());
        let mut args = vec!["rollout", "--admin", &admin];
        args.extend(line.split_whitespace());
        run(
            &args,
            &[("AFFINITY_ADMIN_TOKEN", self.replica.admin.token())],
        )
        .await
    }
}

/// A group of a preview.
fn group<'a>(preview: &'a Value, name: &str) -> &'a Value {
    let mut groups = preview["groups"].as_array().expect("groups").iter();
    let group = groups.find(|group| group["name"] == name);
    group.unwrap_or_else(|| panic!("no {name} in {preview}"))
}

/// The time behind a field.
fn time(value: &Value) -> Timestamp {
    Timestamp::from_secs(value.as_u64().unwrap_or_else(|| panic!("no time: {value}")))
}

#[tokio::test]
async fn as_many_sessions_move_as_the_preview_of_an_abort_says_and_by_when_it_says() {
    let stage = Stage::new(1, 1).await;
    let mut sessions = stage.sessions(400).await;
    let on_new = sessions.iter().filter(|(_, group)| group == NEW).count();
    let preview = stage.preview(NEW, "abort", &json!({})).await;
    let aborted = group(&preview, NEW);
    let said = aborted["live_sessions"].as_f64().expect("a number");

    stage
        .replica
        .admin
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    let by = time(&aborted["leaving"]["by"]);
    assert_eq!(by, START.plus(TI));
    // half of them come back early, the others in the last moment
    let half = sessions.len() / 2;
    let mut moved = 0;
    for (at, (client, before)) in sessions.iter_mut().enumerate() {
        if at == half {
            stage.clock.set(Timestamp::from_millis(by.as_millis() - 1));
        }
        let now = stage.get(client).await;
        assert_eq!(now, OLD, "a session is not where the preview said");
        moved += usize::from(before == NEW);
    }
    assert_eq!(moved, on_new);
    let samples = stage.replica.admin.samples().await;
    let labels = [("from", NEW), ("to", OLD), ("cause", "aborted")];
    let counted = samples.sum("affinity_sessions_moved_total", &labels);
    assert!(
        (said - counted).abs() <= counted * 0.05,
        "{said} said, {counted} moved"
    );
    assert!(counted > 100.0, "{counted} moved; the story shows nothing");
}

#[tokio::test]
async fn a_session_that_does_not_come_back_has_expired_when_all_have_moved() {
    let stage = Stage::new(0, 1).await;
    let mut sessions = stage.sessions(1).await;
    let (client, _) = &mut sessions[0];
    let preview = stage.preview(NEW, "abort", &json!({})).await;
    let by = time(&group(&preview, NEW)["leaving"]["by"]);
    stage
        .replica
        .admin
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    stage.clock.set(by);
    let late = client.get(stage.replica.address(), "/").await;
    let execution = stage.fleet.ledger().of(late.request);
    assert_eq!(execution.decision(), "assigned; cause=expired_idle");
}

#[tokio::test]
async fn the_room_of_the_target_is_its_limit_without_what_is_kept_and_in_flight() {
    let stage = Stage::new(1, 0).await;
    let mut held = Vec::new();
    for number in 0..3 {
        let (mut client, to) = (Client::new(number, &stage.history), stage.replica.address());
        held.push(tokio::spawn(async move { client.get(to, "/hold").await }));
    }
    until("three requests in flight", async || {
        (stage.replica.admin.group(OLD).await["in_flight"] == 3).then_some(())
    })
    .await;
    let preview = stage.preview(NEW, "abort", &json!({})).await;
    let target = group(&preview, OLD);
    assert_eq!(
        (
            &target["max_in_flight"],
            &target["in_flight"],
            &target["free"]
        ),
        (&json!(40), &json!(3), &json!(33))
    );
    let other = stage.preview(OLD, "abort", &json!({ "to": NEW })).await;
    assert_eq!(group(&other, NEW)["free"], Value::Null, "{other}");
    let told = stage.rollout(&format!("abort {NEW} --preview")).await;
    // a tenth of its limit is kept for its own sessions
    let room = format!("{OLD} can take 33 more requests at a time (3 of 40 in flight)");
    assert!(told.stdout.contains(&room), "{told:?}");
    let told = stage
        .rollout(&format!("abort {OLD} --to {NEW} --preview"))
        .await;
    let room = format!("{NEW}: unknown, it has no max_in_flight (0 in flight)");
    assert!(told.stdout.contains(&room), "{told:?}");
    assert!(
        told.stdout.contains(&format!("3 in flight of {OLD}")),
        "{told:?}"
    );
    stage.fleet.release();
    for request in held {
        assert_eq!(request.await.expect("it ends").status, StatusCode::OK);
    }
}

#[tokio::test]
async fn sessions_that_may_stay_or_end_are_told_so() {
    let stage = Stage::new(1, 1).await;
    let stay = json!({ "policy": "stay", "within": "10m" });
    let preview = stage.preview(NEW, "abort", &stay).await;
    let until = START.plus(Duration::from_secs(600));
    assert_eq!(
        group(&preview, NEW)["leaving"],
        json!({
            "how": "stay", "to": [OLD], "until": until.as_secs(),
            "by": until.plus(TI).as_secs(), "cut_by": until.as_secs() + 30,
        })
    );
    let preview = stage
        .preview(NEW, "abort", &json!({ "policy": "end" }))
        .await;
    let now = START.as_secs();
    assert_eq!(
        group(&preview, NEW)["leaving"],
        json!({ "how": "end", "to": [], "by": now + 1_800, "cut_by": now + 30 })
    );
}

#[tokio::test]
async fn a_promotion_lists_what_drains_and_what_becomes_stable() {
    let stage = Stage::new(90, 10).await;
    let preview = stage.preview(NEW, "promote", &json!({})).await;
    let drained_by = START.plus(Duration::from_secs(4 * 3600)).as_secs();
    let old = group(&preview, OLD);
    assert_eq!(
        (&old["before"], &old["after"]),
        (
            &json!({ "generation": 1, "state": "active", "weight": 90, "share": 0.9, "stable": true }),
            &json!({ "generation": 1, "state": "draining", "weight": 0, "share": 0.0, "stable": false })
        )
    );
    assert_eq!(
        (&old["drained_by"], &old["leaving"]),
        (&json!(drained_by), &Value::Null)
    );
    assert_eq!(group(&preview, NEW)["after"]["stable"], true);
}

#[tokio::test]
async fn the_revision_of_a_preview_is_the_condition_of_its_change() {
    let stage = Stage::new(90, 10).await;
    let weights = |query: &'static str, fields: Vec<(&'static str, String)>| {
        let admin = &stage.replica.admin;
        async move {
            let path = format!("/v1/rollout/weights{query}");
            let fields: Vec<_> = fields.iter().map(|(k, v)| (*k, v.as_str())).collect();
            let told: Told = admin
                .change(Method::PUT, &path, &json!({ NEW: 50 }), &fields)
                .await;
            told
        }
    };
    let told = weights("?preview=true", vec![]).await;
    told.accepted();
    let tag = told.headers["etag"].to_str().expect("text").to_owned();
    assert_eq!(told.json()["revision"].to_string(), tag.trim_matches('"'));
    let matching = vec![("if-match", tag)];
    weights("?preview=true", matching.clone()).await.accepted();
    weights("", matching.clone()).await.accepted();
    for query in ["?preview=true", ""] {
        let (kind, _) = weights(query, matching.clone())
            .await
            .problem(StatusCode::PRECONDITION_FAILED);
        assert_eq!(kind, "stale-revision");
    }
    let again = weights("?preview=true", vec![]).await.json();
    assert_eq!(again["changed"], false, "{again}");
}

#[tokio::test]
async fn whoever_may_not_change_may_not_preview_and_an_unclear_query_changes_nothing() {
    let stage = Stage::new(90, 10).await;
    let before = stage.seen().await;
    let admin = &stage.replica.admin;
    let path = format!("/v1/groups/{NEW}/drain?preview=true");
    let bare = http::Request::post(&path).header("content-type", "application/json");
    let told = admin.request(bare, "{}".into()).await;
    assert_eq!(told.problem(StatusCode::UNAUTHORIZED).0, "unauthorized");
    let token = format!("Bearer {}", admin.token());
    let untyped = http::Request::post(&path).header("authorization", token);
    let told = admin.request(untyped, "{}".into()).await;
    assert_eq!(
        told.problem(StatusCode::UNSUPPORTED_MEDIA_TYPE).0,
        "media-type"
    );
    for query in [
        "preview",
        "preview=1",
        "preview=TRUE",
        "Preview=true",
        "dry_run=true",
        "preview=false&preview=true",
    ] {
        let path = format!("/v1/groups/{NEW}/drain?{query}");
        let told = admin.post(&path, &json!({})).await;
        assert_eq!(
            told.problem(StatusCode::BAD_REQUEST).0,
            "bad-request",
            "{query}"
        );
    }
    assert_eq!(stage.seen().await, before);
}

#[tokio::test]
async fn every_verb_of_the_command_line_has_a_preview() {
    let stage = Stage::new(90, 10).await;
    let endpoint = stage.fleet.addresses(LATER)[0];
    let before = stage.seen().await;
    let revision = before.0["revision"].clone();
    for (line, says) in [
        (format!("weights {NEW}=30"), "10 -> 30"),
        (format!("promote {NEW}"), "becomes stable"),
        (format!("drain {NEW}"), "active -> draining"),
        (format!("abort {NEW}"), "with its next request, all by"),
        (format!("abort {NEW} --policy stay"), "until"),
        (
            format!("register {LATER} --endpoint {endpoint}"),
            "- -> staged",
        ),
        ("lock".to_owned(), "only an abort is accepted"),
        ("unlock".to_owned(), "nothing to change"),
    ] {
        let told = stage.rollout(&format!("{line} --preview")).await;
        assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{line}");
        assert!(told.stdout.contains(says), "{line}: {}", told.stdout);
        let first = format!("at revision {revision}: nothing ");
        assert!(told.stdout.contains(&first), "{line}: {}", told.stdout);
    }
    let told = stage
        .rollout(&format!("drain {NEW} --preview --json"))
        .await;
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(
        (&told["preview"], &told["verb"]),
        (&json!(true), &json!("drain"))
    );
    assert_eq!(stage.seen().await, before, "a preview changed something");
}

#[tokio::test]
async fn a_preview_is_refused_like_the_change() {
    let stage = Stage::new(90, 10).await;
    stage.rollout(&format!("drain {NEW}")).await;
    for line in [
        format!("drain {OLD}"),
        format!("retire {NEW}"),
        format!("restore {NEW}"),
        format!("weights {NEW}=0 {OLD}=0"),
        format!("abort {LATER}"),
        format!("weights {NEW}=1 --if-match 1"),
    ] {
        let preview = stage.rollout(&format!("{line} --preview")).await;
        let change = stage.rollout(&line).await;
        assert_eq!(
            (preview.code, &preview.stderr),
            (4, &change.stderr),
            "{line}"
        );
    }
    let forced = stage
        .rollout(&format!("retire {NEW} --force --preview"))
        .await;
    assert!(forced.stdout.contains("left"), "{forced:?}");
    assert!(
        forced.stdout.contains(&format!("to {OLD} by weight")),
        "{forced:?}"
    );
    assert_eq!(stage.replica.admin.group(NEW).await["state"], "draining");
}

#[tokio::test]
async fn a_group_whose_pins_have_expired_is_retired_only_by_force_while_something_is_open() {
    let stage = Stage::new(0, 1).await;
    let (mut client, to) = (Client::new(0, &stage.history), stage.replica.address());
    let held = tokio::spawn(async move { client.get(to, "/hold").await });
    stage.fleet.ledger().arrival("/hold").await;
    let admin = &stage.replica.admin;
    admin.verb(NEW, "drain", &json!({})).await.accepted();
    stage.clock.advance(Duration::from_secs(4 * 3600 + 1));
    for path in ["retire", "retire?preview=true"] {
        let refused = admin.verb(NEW, path, &json!({})).await;
        let (_, why) = refused.problem(StatusCode::CONFLICT);
        assert!(why.contains("is not drained: 1 requests are open"), "{why}");
        assert_eq!(refused.json()["can_be_forced"], true);
    }
    let left = stage
        .rollout(&format!("retire {NEW} --force --preview"))
        .await;
    assert!(
        left.stdout.contains(&format!("{NEW}: 1 in flight")),
        "{left:?}"
    );
    stage.fleet.release();
    assert_eq!(held.await.expect("it ends").status, StatusCode::OK);
    until("nothing is open", async || {
        let told = admin.verb(NEW, "retire", &json!({})).await;
        (told.status == StatusCode::OK).then_some(())
    })
    .await;
}

/// The clock of the stage is what its gateway reads.
#[tokio::test]
async fn a_preview_says_when_it_was_looked_at() {
    let stage = Stage::new(1, 1).await;
    stage.clock.advance(Duration::from_secs(77));
    let preview = stage.preview(NEW, "drain", &json!({})).await;
    assert_eq!(time(&preview["at"]), stage.clock.now());
}
