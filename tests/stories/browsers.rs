//! Browsers on two versions: pages, their calls and their assets while one commit follows another.

use affinity_tests::Scratch;
use affinity_tests::client::{Answer, Client};
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use http::Request;
use http_body_util::Full;
use serde_json::json;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const SCOPES: &str = r#"
[[scope]]
path = "/static/*"
affinity = "follow"
hint = "query:commit"
[[scope]]
path = "/*"
affinity = "version"
on_navigation = "latest"
"#;

async fn ask(
    client: &mut Client,
    replica: &Replica,
    (method, path): (&str, &str),
    (mode, dest): (&str, &str),
) -> Answer {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("sec-fetch-mode", mode);
    let request = request.header("sec-fetch-dest", dest);
    let request = request.body(Full::default()).unwrap();
    client.send(replica.address(), request).await
}

async fn page(client: &mut Client, replica: &Replica) -> Answer {
    ask(client, replica, ("GET", "/"), ("navigate", "document")).await
}

async fn call(client: &mut Client, replica: &Replica) -> Answer {
    ask(client, replica, ("GET", "/api"), ("cors", "empty")).await
}

async fn asset(client: &mut Client, replica: &Replica, query: &str) -> Answer {
    let path = format!("/static/app.js{query}");
    ask(client, replica, ("GET", &path), ("no-cors", "script")).await
}

fn reload(answer: &Answer) -> Option<&str> {
    answer.headers.get("affinity-reload")?.to_str().ok()
}

/// C038, C115, C116.
#[tokio::test]
async fn c115_an_old_page_keeps_its_commit_until_it_is_left_or_told_that_it_is_gone() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 0)]);
    config.sections = SCOPES.to_owned();
    let replica = Replica::start(&dir, &config).await;
    let history = History::default();
    let [mut leaves, mut stays, mut stranger] = [0, 1, 2].map(|n| Client::new(n, &history));
    for client in [&mut leaves, &mut stays] {
        assert_eq!(page(client, &replica).await.group(), Some(OLD));
    }
    let promoted = replica.admin.verb(NEW, "promote", &json!({})).await;
    promoted.accepted();

    // the pages that are open go on, with and without their pin
    for client in [&mut leaves, &mut stays] {
        assert_eq!(call(client, &replica).await.group(), Some(OLD));
        assert_eq!(asset(client, &replica, "").await.group(), Some(OLD));
    }
    let named = asset(&mut stranger, &replica, "?commit=9f1c2ab").await;
    assert_eq!((named.group(), reload(&named)), (Some(OLD), None));
    assert!(named.cookies().is_empty(), "a hint opens no session");
    assert_eq!(asset(&mut stranger, &replica, "").await.group(), Some(NEW));

    // who loads the page anew moves on, once
    let moved = page(&mut leaves, &replica).await;
    assert_eq!((moved.group(), reload(&moved)), (Some(NEW), None));
    let execution = fleet.ledger().of(moved.request);
    assert_eq!(execution.decision(), "moved; cause=released");
    assert_eq!(call(&mut leaves, &replica).await.group(), Some(NEW));
    assert_eq!(call(&mut stays, &replica).await.group(), Some(OLD));

    // the old commit is withdrawn, and the page that is left is told
    let aborted = replica.admin.verb(OLD, "abort", &json!({})).await;
    aborted.accepted();
    let gone = asset(&mut stranger, &replica, "?commit=9f1c2ab").await;
    assert_eq!(
        (gone.group(), reload(&gone)),
        (Some(NEW), Some("group-gone"))
    );
    assert_eq!(gone.headers["cache-control"], "no-store");
    let told = call(&mut stays, &replica).await;
    assert_eq!((told.group(), reload(&told)), (Some(NEW), Some("moved")));
    let after = call(&mut stays, &replica).await;
    assert_eq!(
        (after.group(), reload(&after)),
        (Some(NEW), None),
        "told once"
    );

    let samples = replica.admin.samples().await;
    for (outcome, count) in [("served", 1.0), ("gone", 1.0)] {
        let label = [("outcome", outcome)];
        assert_eq!(
            samples.sum("affinity_hints_total", &label),
            count,
            "{outcome}"
        );
    }
    assert_eq!(samples.sum("affinity_reloads_asked_total", &[]), 2.0);
    history.balances(fleet.ledger());
}

#[tokio::test]
async fn a_session_of_a_retired_commit_goes_to_the_one_that_can_read_it() {
    let fleet = Fleet::start(&[OLD, NEW, "reads-both"], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(NEW, 1), (OLD, 1), ("reads-both", 0)]);
    config.sections = SCOPES.to_owned();
    config.group("reads-both").more = format!("compatible_with = [\"{OLD}\"]");
    let replica = Replica::start(&dir, &config).await;
    let history = History::default();
    let mut on_old = None;
    for number in 0..64 {
        let mut client = Client::new(number, &history);
        if page(&mut client, &replica).await.group() == Some(OLD) {
            on_old = Some(client);
            break;
        }
    }
    let mut client = on_old.expect("one of 64 sessions begins on the old commit");
    let drained = replica.admin.verb(OLD, "drain", &json!({})).await;
    drained.accepted();
    assert_eq!(call(&mut client, &replica).await.group(), Some(OLD));
    let retired = replica
        .admin
        .verb(OLD, "retire", &json!({"force": true}))
        .await;
    retired.accepted();
    let moved = call(&mut client, &replica).await;
    let execution = fleet.ledger().of(moved.request);
    assert_eq!(
        (moved.group(), execution.decision()),
        (Some("reads-both"), "moved; cause=compatible")
    );
    assert_eq!(reload(&moved), Some("moved"));
    assert_eq!(
        call(&mut client, &replica).await.group(),
        Some("reads-both")
    );
    history.balances(fleet.ledger());
}
