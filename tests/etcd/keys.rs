//! Keys that not all gateways have at the same time. F32: three rotations with five seconds between
//! the gateways, 0 moves and 0 rejected pins. F33: one gateway lacks the key, at most one move per
//! session, no error, and the gateway says that it is not ready.

use std::time::Duration;

use affinity_tests::jar::Keeps;
use affinity_tests::replica::load;
use affinity_tests::until;
use http::StatusCode;
use serde_json::json;

use crate::support::{BAD, Cluster, Member, Moves, STABLE, Traffic};

/// Keys that a file in the cluster's directory holds; all are different.
fn make_keys(cluster: &Cluster) {
    for number in 1..=3 {
        let text = format!("{number}1NfQ7xYb5LzK0jVhT3sRmPw9gCeDi6AoG2kXq8Bn4E");
        cluster.dir.write(&format!("key-{number}"), text);
    }
}

/// A ring as the file has it; number 0 is the key of the start.
fn ring(numbers: &[usize]) -> String {
    let keys: Vec<_> = numbers
        .iter()
        .map(|number| match number {
            0 => "\"2026-11:file:key\"".to_owned(),
            n => format!("\"rotation-{n}:file:key-{n}\""),
        })
        .collect();
    format!("keys = [{}]", keys.join(", "))
}

/// Edits the line of the keys in one gateway's file.
fn edit(cluster: &Cluster, member: &Member, keys: &str) {
    let file = &member.replica.file;
    let text = std::fs::read_to_string(file).expect("the file is there");
    let lines = text.lines().filter(|line| !line.starts_with("drop_early"));
    let lines = lines.map(|line| {
        if line.starts_with("keys = ") {
            keys
        } else {
            line
        }
    });
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    let file = cluster
        .dir
        .write(name, lines.collect::<Vec<_>>().join("\n"));
    let reloaded = tokio::task::block_in_place(|| member.replica.gateway.reload(load(&file)));
    reloaded.expect("the edit is right");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_rotations_that_reach_the_gateways_one_after_another_move_nobody() {
    const SESSIONS: u64 = 30;
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    make_keys(&cluster);
    let traffic = Traffic::start(&cluster.addresses(), SESSIONS, 3, Keeps::LastArrival);
    traffic.more(100).await;
    let reaches_all = async |keys: &str| {
        for member in &cluster.members {
            edit(&cluster, member, keys);
            cluster.advance(Duration::from_secs(5));
            traffic.more(90).await;
        }
    };
    for new in 1..=3 {
        let old = new - 1;
        reaches_all(&ring(&[old, new])).await;
        reaches_all(&ring(&[new, old])).await;
        // the idle time of a pin: who came in it has a pin of the new key
        for _ in 0..5 {
            cluster.advance(Duration::from_secs(360));
            traffic.more(180).await;
        }
        let name = match old {
            0 => "2026-11".to_owned(),
            n => format!("rotation-{n}"),
        };
        let retired = format!("{}\ndrop_early = [\"{name}\"]", ring(&[new]));
        reaches_all(&retired).await;
    }
    let history = traffic.stop().await;
    let moves = Moves::of(&history, cluster.fleet.ledger());
    assert_eq!(moves.edges().len(), 0, "somebody moved");
    let mut decisions = moves.decisions();
    let assigned = decisions.remove("assigned; cause=new");
    assert_eq!(assigned, Some(SESSIONS as usize), "{decisions:?}");
    let pinned = decisions.remove("pinned; cause=ok").unwrap_or_default();
    assert!(pinned > 1_000 && decisions.is_empty(), "{decisions:?}");
    for member in &cluster.members {
        let samples = member.admin().samples().await;
        assert_eq!(samples.sum("affinity_pins_rejected_total", &[]), 0.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_without_the_signing_key_moves_a_session_once_and_is_not_ready() {
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    make_keys(&cluster);
    let [one, two, without] = &cluster.members[..] else {
        panic!("there are three");
    };
    for member in [one, two] {
        edit(&cluster, member, &ring(&[1, 0]));
    }
    let traffic = Traffic::start(&cluster.addresses(), 60, 3, Keeps::LastArrival);
    traffic.more(600).await;
    // all gateways speak when the state changes
    one.admin().weights(&json!({ BAD: 49 })).await.accepted();
    until("it is not ready", async || {
        let status = without.admin().get("/readyz").await.status;
        (status == StatusCode::SERVICE_UNAVAILABLE).then_some(())
    })
    .await;
    // each may have heard the other as it was before it had the key
    until("the others are ready", async || {
        for member in [one, two] {
            if member.admin().get("/readyz").await.status != StatusCode::OK {
                return None;
            }
        }
        Some(())
    })
    .await;
    let status = without.admin().get("/readyz").await.status;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    traffic.more(200).await;
    let history = traffic.stop().await;
    for (client, entries) in history.by_client() {
        assert!(
            entries.iter().all(|entry| entry.status == 200),
            "client {client}"
        );
        let mut path: Vec<_> = entries.iter().map(|entry| &entry.group).collect();
        path.dedup();
        assert!(
            path.len() <= 2,
            "client {client} changed its group twice: {path:?}"
        );
    }
    let samples = without.admin().samples().await;
    let unknown = [("cause", "unknown_key")];
    assert!(samples.sum("affinity_pins_rejected_total", &unknown) >= 20.0);
}
