//! A draining group with real time: when it is drained, and who is told.

use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Ended, run};
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use http::StatusCode;
use serde_json::{Value, json};
use tower_affinity::SystemClock;
use tower_affinity::core::{Clock, Timestamp};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

async fn wait(replica: &Replica, line: &str) -> Ended {
    let admin = format!("http://{}", replica.admin.address());
    let mut args = vec!["rollout", "--admin", &admin, "wait"];
    args.extend(line.split_whitespace());
    run(&args, &[("AFFINITY_ADMIN_TOKEN", replica.admin.token())]).await
}

#[tokio::test]
async fn c103_drained_comes_within_a_second_of_the_last_expiry_and_not_before() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 0), (NEW, 1)]);
    config.pin = "idle_ttl = \"5s\"\nmax_age = \"5s\"\nlocal_idle_timeout = \"1s\"".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let active = wait(&replica, &format!("{NEW} --drained")).await;
    assert_eq!(active.code, 4, "{active:?}");
    assert!(active.stderr.contains("rollout drain"), "{active:?}");

    let history = History::default();
    let mut client = Client::new(0, &history);
    let served = client.get(replica.address(), "/").await;
    assert_eq!(served.group(), Some(NEW));

    replica
        .admin
        .verb(NEW, "drain", &json!({}))
        .await
        .accepted();
    let early = wait(&replica, &format!("{NEW} --drained --timeout 10ms")).await;
    assert_eq!(early.code, 3, "{early:?}");

    let clock = SystemClock::new();
    let path = format!("/v1/groups/{NEW}/drained");
    let (seen, left) = until("the group is drained", async || {
        let told = replica.admin.get(&path).await;
        let left: Value = told.json();
        let drained = left["drained"] == json!(true);
        let expected = if drained {
            StatusCode::OK
        } else {
            StatusCode::CONFLICT
        };
        assert_eq!(told.status, expected, "{left}");
        drained.then(|| (clock.now(), left))
    })
    .await;
    let last = left["last_expiry"].as_u64().expect("there was a pin");
    let last = Timestamp::from_secs(last);
    assert!(seen > last, "drained at {seen}, and a pin lives to {last}");
    let late = seen.since(last);
    assert!(
        late <= Duration::from_secs(1),
        "{late:?} after the last pin"
    );

    let done = wait(&replica, &format!("{NEW} --drained --timeout 10s")).await;
    assert_eq!((done.code, done.stdout.trim()), (0, "c3d4e5f is drained"));
    replica
        .admin
        .verb(NEW, "retire", &json!({}))
        .await
        .accepted();
}
