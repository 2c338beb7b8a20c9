//! Every request is counted once, with labels from closed sets.

use std::collections::BTreeSet;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::raw::{Raw, talk};
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const REQUESTS: &str = "affinity_requests_total";

#[tokio::test]
async fn requests_are_counted_once_whatever_becomes_of_them() {
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    config.sections = "[[scope]]\npath = \"/assets/*\"\naffinity = \"follow\"\n\
                       [[scope]]\npath = \"/health\"\naffinity = \"none\"\n\
                       [[scope]]\npath = \"/*\"\non_gone = \"strict\"\n"
        .to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let mut sent = 0;

    // served, in every level, with every class of status
    let mut clients: Vec<_> = (0..20)
        .map(|number| Client::new(number, &history))
        .collect();
    for client in &mut clients {
        for path in [
            "/",
            "/status/404",
            "/status/503",
            "/status/302",
            "/assets/a",
            "/health",
        ] {
            client.get(address, path).await;
            sent += 1;
        }
    }
    // refused by the rule: sessions that are ended
    replica
        .admin
        .verb(NEW, "abort", &json!({ "policy": "end" }))
        .await
        .accepted();
    let mut refused = 0;
    for client in &mut clients {
        refused += u64::from(client.get(address, "/").await.status == StatusCode::CONFLICT);
        sent += 1;
    }
    assert!(refused > 2, "only {refused} sessions were ended");
    // refused before any decision
    let early = talk(
        address,
        "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n",
    );
    assert!(early.await.starts_with("HTTP/1.1 400"));
    let early = talk(
        address,
        "TRACE / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    );
    assert!(early.await.starts_with("HTTP/1.1 405"));
    // an endpoint's fault
    let cut = Request::post("/cut").body(Full::from("x")).unwrap();
    assert_eq!(
        clients[0].send(address, cut).await.status,
        StatusCode::BAD_GATEWAY
    );
    // a bad pin
    let forged = "GET / HTTP/1.1\r\nhost: a\r\ncookie: __Host-affinity-checkout=a.b.c\r\n\
                  connection: close\r\n\r\n";
    assert!(talk(address, forged).await.starts_with("HTTP/1.1 200"));
    // a client that goes away before, and one that goes away within its answer
    let mut gone = Raw::connect(address).await;
    gone.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n").await;
    fleet.ledger().arrival("/hold").await;
    drop(gone);
    let mut gone = Raw::connect(address).await;
    gone.write("GET /early HTTP/1.1\r\nhost: a\r\n\r\n").await;
    gone.read_to("first,").await;
    drop(gone);
    sent += 6;

    until("all requests counted", async || {
        (replica.admin.samples().await.sum(REQUESTS, &[]) >= f64::from(sent)).then_some(())
    })
    .await;
    fleet.release();
    until("nothing in flight", async || {
        let samples = replica.admin.samples().await;
        (samples.sum("affinity_requests_in_flight", &[]) == 0.0).then_some(())
    })
    .await;
    let samples = replica.admin.samples().await;
    assert_eq!(
        samples.sum(REQUESTS, &[]),
        f64::from(sent),
        "a request was counted twice"
    );
    for (labels, count) in [
        (
            vec![("decision", "refused"), ("cause", "aborted_end")],
            refused as f64,
        ),
        (vec![("decision", "refused"), ("cause", "early")], 2.0),
        (vec![("decision", "bypassed"), ("cause", "follow")], 20.0),
        (vec![("decision", "bypassed"), ("cause", "none")], 20.0),
        (vec![("code_class", "client_abort")], 2.0),
        (vec![("cause", "malformed")], 1.0),
        (vec![("group", "none")], 2.0),
    ] {
        assert_eq!(samples.sum(REQUESTS, &labels), count, "for {labels:?}");
    }
    assert_eq!(
        samples.sum("affinity_pins_rejected_total", &[("cause", "malformed")]),
        1.0
    );
    // cut once by the endpoint, twice by clients; the forged pin's answer went to a raw client
    history.balances_but(fleet.ledger(), 4);
}

#[tokio::test]
async fn labels_come_from_closed_sets_and_never_from_clients() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 1)])).await;
    let history = History::default();
    for number in 0..50 {
        let mut client = Client::new(number, &history);
        client
            .jar
            .put("__Host-affinity-checkout", &format!("evil-{number}"));
        let request = Request::builder()
            .method(format!("M{number}").as_str())
            .uri(format!("/evil/{number}"))
            .header("affinity-group", format!("evil-{number}"))
            .header("user-agent", format!("evil-{number}"))
            .body(Full::default())
            .unwrap();
        client.send(replica.address(), request).await;
    }
    let page = replica.admin.get("/metrics").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/plain")
    );
    assert!(
        !page.text().contains("evil"),
        "a client's word is a label:\n{}",
        page.text()
    );
    let samples = replica.admin.samples().await;
    let labels: BTreeSet<_> = ["group", "cohort", "decision", "cause", "code_class"].into();
    assert_eq!(samples.labels(REQUESTS), labels);
    assert_eq!(
        samples.values(REQUESTS, "group"),
        BTreeSet::from([OLD, NEW])
    );
    assert_eq!(
        samples.values(REQUESTS, "decision"),
        BTreeSet::from(["assigned"])
    );
    assert_eq!(
        samples.values(REQUESTS, "cause"),
        BTreeSet::from(["malformed"])
    );
    assert_eq!(samples.sum("affinity_sessions_assigned_total", &[]), 50.0);
    assert_eq!(samples.sum("affinity_group_weight", &[("group", NEW)]), 1.0);
    let active = [("group", NEW), ("state", "active")];
    assert_eq!(samples.sum("affinity_group_state", &active), 1.0);
    let revision = replica.admin.rollout().await["revision"].as_f64().unwrap();
    assert_eq!(samples.sum("affinity_rollout_revision", &[]), revision);
}

#[tokio::test]
async fn live_and_ready_are_told_apart() {
    let mut fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1)])).await;
    for path in ["/livez", "/readyz"] {
        until(path, async || {
            (replica.admin.get(path).await.status == StatusCode::OK).then_some(())
        })
        .await;
    }
    // a gateway whose endpoints are gone is alive
    fleet.kill(OLD);
    let history = History::default();
    let answer = Client::new(0, &history).get(replica.address(), "/").await;
    assert!(answer.status.is_server_error(), "{}", answer.status);
    assert_eq!(replica.admin.get("/livez").await.status, StatusCode::OK);
    let unknown = replica.admin.get("/nothing").await;
    assert_eq!(unknown.problem(StatusCode::NOT_FOUND).0, "not-found");
}
