//! Testers choose a group by a signed, short-lived override.

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;

const LIVE: &str = "9f1c2ab";
const NEXT: &str = "c3d4e5f";
const CHOICE: &str = "__Host-affinity-checkout.override";

#[tokio::test]
async fn c061_a_tester_sees_a_staged_group_and_nobody_else_does() {
    let fleet = Fleet::start(&[LIVE, NEXT], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(LIVE, 1), (NEXT, 0)]);
    config.group(NEXT).more = "state = \"staged\"\n".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let wish = json!({ "group": NEXT, "override": true, "ttl": "1h" });
    let minted = replica.admin.post("/v1/pins/mint", &wish).await.json();
    let token = minted["token"].as_str().expect("a token");

    let mut tester = Client::new(0, &history);
    assert_eq!(tester.get(address, "/").await.group(), Some(LIVE));
    let pin = tester.jar.value(COOKIE).unwrap().to_owned();
    let path = format!("/.well-known/affinity/override?token={token}");
    let visited = tester.get(address, &path).await;
    assert_eq!(visited.status, StatusCode::SEE_OTHER);
    assert_eq!(
        (
            &visited.headers["location"],
            &visited.headers["cache-control"]
        ),
        (&"/".parse().unwrap(), &"no-store".parse().unwrap())
    );
    assert_eq!(tester.jar.value(CHOICE), Some(token));
    for _ in 0..3 {
        let chosen = tester.get(address, "/").await;
        let execution = fleet.ledger().of(chosen.request);
        assert_eq!(
            (chosen.group(), execution.decision()),
            (Some(NEXT), "overridden; cause=granted")
        );
        assert_eq!(execution.field("affinity-session"), None);
        let cookies = execution.field("cookie").map(<[u8]>::to_vec);
        assert_eq!(cookies, None, "the override went on to the endpoint");
        assert_eq!(chosen.headers["cache-control"], "no-store");
    }
    assert_eq!(
        tester.jar.value(COOKIE),
        Some(pin.as_str()),
        "the pin is left alone"
    );

    let mut other = Client::new(1, &history);
    assert_eq!(other.get(address, "/").await.group(), Some(LIVE));
    let request = Request::get("/").header("affinity-override", NEXT);
    let forged = other
        .send(address, request.body(Full::default()).unwrap())
        .await;
    assert_eq!(forged.group(), Some(LIVE), "a name is no override");

    replica
        .admin
        .verb(NEXT, "abort", &json!({}))
        .await
        .accepted();
    let refused = tester.get(address, "/").await;
    assert_eq!(
        (refused.status, refused.group()),
        (StatusCode::CONFLICT, None)
    );
    assert_eq!(
        tester.jar.value(CHOICE),
        None,
        "the 409 clears the override"
    );
    assert_eq!(tester.get(address, "/").await.group(), Some(LIVE));
    let refused = replica.admin.post("/v1/pins/mint", &wish).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
}
