//! A canary grows, and the sessions of a scope that reassigns follow it.

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::jar::claims;
use affinity_tests::replica::Replica;
use serde_json::json;

const STABLE: &str = "9f1c2ab";
const CANARY: &str = "c3d4e5f";
const CLIENTS: u64 = 100;

#[tokio::test]
async fn c035_a_step_moves_some_sessions_to_the_canary_and_each_of_them_once() {
    let fleet = Fleet::start(&[STABLE, CANARY], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(STABLE, 90), (CANARY, 10)]);
    config.sections = "[[scope]]\npath = \"/*\"\non_step = \"reassign\"\n".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let mut clients: Vec<Client> = (0..CLIENTS).map(|n| Client::new(n, &history)).collect();
    for client in &mut clients {
        client.get(address, "/").await;
    }
    let step = json!({ STABLE: 50, CANARY: 50 });
    let revision = replica.admin.weights(&step).await.revision();
    for client in &mut clients {
        for _ in 0..4 {
            client.get(address, "/").await;
        }
        let pin = claims(client.jar.value(COOKIE).unwrap());
        assert_eq!(
            (&pin["arv"], pin.get("fx")),
            (&json!(revision), None),
            "{pin}"
        );
    }

    let mut moved = 0;
    for (client, entries) in history.by_client() {
        let groups = entries.iter().map(|entry| entry.group.as_deref());
        let mut path: Vec<_> = groups.map(|group| group.expect("no refusal")).collect();
        let first = entries.get(1).expect("the request after the step").request;
        let decision = fleet.ledger().of(first).decision().to_owned();
        path.dedup();
        match path.as_slice() {
            [_] => assert_eq!(decision, "pinned; cause=ok", "client {client}"),
            [STABLE, CANARY] => {
                assert_eq!(decision, "moved; cause=step", "client {client}");
                moved += 1;
            }
            _ => panic!("client {client} moved and need not: {path:?}"),
        }
    }
    // 40 of 100 are expected
    assert!((15..=65).contains(&moved), "{moved} of {CLIENTS} moved");
    let edge = [("from", STABLE), ("to", CANARY), ("cause", "step")];
    let samples = replica.admin.samples().await;
    assert_eq!(samples.sum("affinity_moves_total", &edge), f64::from(moved));

    replica
        .admin
        .verb(CANARY, "promote", &json!({}))
        .await
        .accepted();
    for client in &mut clients {
        client.get(address, "/").await;
    }
    let samples = replica.admin.samples().await;
    let all = samples.sum("affinity_moves_total", &[]);
    assert_eq!(all, f64::from(moved), "a promotion moves nobody");
    history.balances(fleet.ledger());
}
