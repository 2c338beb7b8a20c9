//! A gateway that joins others while the state that they share is out of reach.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use affinity_tests::admin::Admin;
use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use http::StatusCode;
use http::header::RETRY_AFTER;
use tokio::net::TcpStream;
use tower_affinity_testing::engine::{Fault, MemoryEngine};

const GROUP: &str = "9f1c2ab";

/// A configuration whose ports are known before it runs.
fn config(fleet: &Fleet) -> Config {
    // both at once, so that they differ
    let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let [address, admin] = free.map(|free| free.local_addr().expect("an address"));
    Config {
        address,
        admin,
        ..Config::new(fleet, &[(GROUP, 1)])
    }
}

async fn listens(address: SocketAddr) {
    until("a listener", async || {
        TcpStream::connect(address).await.ok()
    })
    .await;
}

#[tokio::test]
async fn a_gateway_without_a_state_says_that_it_waits_and_refuses_clients() {
    let (fleet, dir) = (Fleet::start(&[GROUP], 1).await, Scratch::new());
    let (config, engine) = (config(&fleet), MemoryEngine::new());
    engine.suffer(Fault::OutOfReach);
    let starts = Replica::join(&dir, &config, "gateway.toml", Arc::new(engine.clone()));
    let looks = async {
        listens(config.admin).await;
        let admin = Admin::new(config.admin, &dir.path().join("admin.token"));
        assert_eq!(admin.get("/livez").await.status, StatusCode::OK);
        let ready = admin.get("/readyz").await;
        assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(
            ready.text().contains("waiting for the shared state"),
            "{}",
            ready.text()
        );
        for path in ["/v1/rollout", "/metrics", "/nowhere"] {
            let answer = admin.get(path).await;
            let (kind, _) = answer.problem(StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(
                (kind.as_str(), &answer.headers[RETRY_AFTER]),
                ("not-ready", &"1".parse().unwrap())
            );
        }
        let client = TcpStream::connect(config.address).await;
        assert_eq!(client.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        engine.suffer(None);
    };
    let (replica, ()) = tokio::join!(starts, looks);
    assert_eq!(replica.admin.rollout().await["stable"], GROUP);
    until("it is ready", async || {
        (replica.admin.get("/readyz").await.status == StatusCode::OK).then_some(())
    })
    .await;
    let history = History::default();
    let answer = Client::new(0, &history).get(replica.address(), "/").await;
    assert_eq!(answer.group(), Some(GROUP));
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_its_addresses_free() {
    let (fleet, dir) = (Fleet::start(&[GROUP], 1).await, Scratch::new());
    let (config, engine) = (config(&fleet), MemoryEngine::new());
    engine.suffer(Fault::Silent);
    tokio::select! {
        _ = Replica::join(&dir, &config, "gateway.toml", Arc::new(engine)) => panic!("no state"),
        () = listens(config.admin) => {}
    }
    for address in [config.address, config.admin] {
        until("the address is free", async || {
            TcpListener::bind(address).ok()
        })
        .await;
    }
}
