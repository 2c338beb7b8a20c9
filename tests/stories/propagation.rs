//! An endpoint gets the pin of its session, for the services that it calls.

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use http::Request;
use http_body_util::Full;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

#[tokio::test]
async fn an_endpoint_gets_the_pin_that_the_client_holds_where_its_scope_propagates() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 50), (NEW, 50)]);
    config.sections = "[[scope]]\npath = \"/shop/*\"\npropagate = true\n\
                       [[scope]]\npath = \"/*\"\n"
        .to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let mut client = Client::new(0, &history);
    let handed_on = async |client: &mut Client, path: &str| {
        // what a client puts under our name goes nowhere, even if it has the gateway keep it
        let request = Request::get(path)
            .header("affinity-pin", "forged")
            .header("connection", "affinity-pin");
        let answer = client
            .send(address, request.body(Full::default()).unwrap())
            .await;
        let execution = fleet.ledger().of(answer.request);
        let pin = execution.field("affinity-pin").map(<[u8]>::to_vec);
        (answer, pin.map(|pin| String::from_utf8(pin).unwrap()))
    };

    let first = client.get(address, "/shop/cart").await;
    let got = fleet.ledger().of(first.request);
    let pin = client.jar.value(COOKIE).expect("a first pin").to_owned();
    assert_eq!(got.field("affinity-pin"), Some(pin.as_bytes()));

    for _ in 0..3 {
        let (answer, got) = handed_on(&mut client, "/shop/pay").await;
        assert_eq!(answer.group(), first.group());
        assert_eq!(got.as_deref(), Some(pin.as_str()), "as it came");
    }
    let (answer, got) = handed_on(&mut client, "/elsewhere").await;
    assert_eq!(answer.group(), first.group());
    assert_eq!(got, None, "a scope that does not propagate");
}
