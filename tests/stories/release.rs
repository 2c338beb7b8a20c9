//! The application hands its sessions over at a safe point, so that a drain ends sooner.

use affinity_tests::Scratch;
use affinity_tests::client::{Answer, Client};
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::jar::claims;
use affinity_tests::replica::Replica;
use http::Request;
use http_body_util::Full;
use serde_json::json;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// A request whose answer says that the session may leave.
async fn safe_point(client: &mut Client, replica: &Replica) -> Answer {
    let request = Request::get("/")
        .header("x-answer", "affinity-session: release")
        .body(Full::default())
        .unwrap();
    client.send(replica.address(), request).await
}

#[tokio::test]
async fn c119_a_drained_sessions_safe_point_hands_it_over_once() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 0)])).await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    client.get(replica.address(), "/").await;
    let early = safe_point(&mut client, &replica).await;
    assert!(early.cookies().is_empty(), "there is nothing to leave for");

    replica
        .admin
        .verb(NEW, "promote", &json!({}))
        .await
        .accepted();
    let stays = client.get(replica.address(), "/").await;
    assert_eq!(
        stays.group(),
        Some(OLD),
        "nobody moves before its safe point"
    );
    let safe = safe_point(&mut client, &replica).await;
    assert_eq!(safe.group(), Some(OLD));
    assert!(!safe.headers.contains_key("affinity-session"));
    assert_eq!(claims(client.jar.value(COOKIE).unwrap())["rl"], true);

    let moving = client.get(replica.address(), "/").await;
    let execution = fleet.ledger().of(moving.request);
    assert_eq!(
        (moving.group(), execution.decision()),
        (Some(NEW), "moved; cause=released")
    );
    for _ in 0..20 {
        let later = safe_point(&mut client, &replica).await;
        assert_eq!(later.group(), Some(NEW));
    }
    let pin = claims(client.jar.value(COOKIE).unwrap());
    assert_eq!(
        (&pin["mv"], &pin["mc"], pin.get("rl")),
        (&json!(1), &json!("released"), None)
    );
    let edge = [("from", OLD), ("to", NEW), ("cause", "released")];
    let samples = replica.admin.samples().await;
    assert_eq!(samples.sum("affinity_moves_total", &edge), 1.0);
    history.balances(fleet.ledger());
}
