//! Level `endpoint`: a session's requests reach one endpoint while that lives.

use std::collections::BTreeSet;
use std::sync::Arc;

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::jar::claims;
use affinity_tests::replica::{Replica, load};
use serde_json::json;
use tower_affinity_testing::engine::MemoryEngine;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const SCOPE: &str = "[[scope]]\npath = \"/*\"\naffinity = \"endpoint\"\n";

/// Two gateways with the same keys and the same state, before three endpoints of each group.
struct Stage {
    fleet: Fleet,
    dir: Scratch,
    config: Config,
    replicas: [Replica; 2],
    history: History,
}

impl Stage {
    async fn new() -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 3).await;
        let dir = Scratch::new();
        let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 0)]);
        config.sections = SCOPE.to_owned();
        let engine = Arc::new(MemoryEngine::new());
        let one = Replica::join(&dir, &config, "one.toml", engine.clone()).await;
        config.state = "other-state.json".to_owned();
        let two = Replica::join(&dir, &config, "two.toml", engine).await;
        Self {
            fleet,
            dir,
            config,
            replicas: [one, two],
            history: History::default(),
        }
    }

    /// A request through one of the gateways: the endpoint that it reached, and the decision.
    async fn get(&self, client: &mut Client, through: usize) -> (String, String) {
        let answer = client.get(self.replicas[through % 2].address(), "/").await;
        let execution = self.fleet.ledger().of(answer.request);
        let decision = execution.decision().to_owned();
        (execution.endpoint.to_string(), decision)
    }

    /// One endpoint of the old group ends, and another one begins; both gateways are told.
    async fn restart(&mut self, endpoint: &str) {
        let at = endpoint.rsplit('-').next().unwrap();
        self.fleet.add(OLD).await;
        self.fleet.end(OLD, at.parse::<usize>().unwrap() - 1);
        self.config.group(OLD).endpoints = self.fleet.addresses(OLD);
        for (name, state, replica) in [
            ("one.toml", "gateway-state.json", &self.replicas[0]),
            ("two.toml", "other-state.json", &self.replicas[1]),
        ] {
            self.config.state = state.to_owned();
            let file = self.config.write(&self.dir, name);
            replica.gateway.reload(load(&file)).unwrap();
        }
    }

    async fn moves(&self) -> f64 {
        let mut moves = 0.0;
        for replica in &self.replicas {
            let samples = replica.admin.samples().await;
            moves += samples.sum("affinity_moves_total", &[]);
        }
        moves
    }
}

#[tokio::test]
async fn a_session_leaves_its_endpoint_once_when_that_restarts_on_another_port() {
    let mut stage = Stage::new().await;
    let mut clients = Vec::new();
    let mut used = BTreeSet::new();
    for number in 0..30 {
        let mut client = Client::new(number, &stage.history);
        let (endpoint, decision) = stage.get(&mut client, 0).await;
        assert_eq!(decision, "assigned; cause=new");
        used.insert(endpoint.clone());
        clients.push((client, endpoint));
    }
    assert_eq!(used.len(), 3, "sessions are spread over the endpoints");
    for (client, endpoint) in &mut clients {
        for through in 0..4 {
            let reached = stage.get(client, through).await;
            assert_eq!(reached, (endpoint.clone(), "pinned; cause=ok".to_owned()));
        }
        let pin = client.jar.value(COOKIE).unwrap();
        let claims = claims(pin).to_string();
        assert!(claims.contains("\"ep\""), "{claims}");
        assert!(!claims.contains("127.0.0.1"), "{claims}");
    }

    let gone = format!("{OLD}-2");
    stage.restart(&gone).await;
    let mut left = 0;
    for (client, endpoint) in &mut clients {
        let (reached, decision) = stage.get(client, 1).await;
        if *endpoint == gone {
            assert_eq!(decision, "pinned; cause=endpoint_lost");
            assert!(reached.starts_with(OLD), "it left its group for {reached}");
            endpoint.clone_from(&reached);
            left += 1;
        }
        assert_eq!(reached, *endpoint, "{decision}");
        for through in 0..4 {
            let later = stage.get(client, through).await;
            assert_eq!(later, (endpoint.clone(), "pinned; cause=ok".to_owned()));
        }
    }
    assert!(left > 0, "no session was at the endpoint that is gone");
    assert_eq!(stage.moves().await, 0.0);
    let samples = stage.replicas[1].admin.samples().await;
    let lost = [("decision", "pinned"), ("cause", "endpoint_lost")];
    assert_eq!(
        samples.sum("affinity_requests_total", &lost),
        f64::from(left)
    );
}

#[tokio::test]
async fn a_session_that_finds_its_endpoint_dead_stays_where_it_was_served() {
    let mut stage = Stage::new().await;
    let mut clients = Vec::new();
    for number in 0..20 {
        let mut client = Client::new(number, &stage.history);
        let (endpoint, _) = stage.get(&mut client, 0).await;
        clients.push((client, endpoint));
    }
    let gone = format!("{OLD}-1");
    let first = clients.iter().position(|(_, endpoint)| *endpoint == gone);
    let (mut client, _) = clients.swap_remove(first.expect("no session is there"));
    // nobody knows yet that it is dead
    stage.fleet.end(OLD, 0);
    let (reached, decision) = stage.get(&mut client, 0).await;
    assert!(reached.starts_with(OLD), "it left its group for {reached}");
    assert_ne!(reached, gone);
    assert_eq!(
        decision, "pinned; cause=endpoint_lost",
        "{reached} was told"
    );
    for through in 0..4 {
        let later = stage.get(&mut client, through).await;
        assert_eq!(later, (reached.clone(), "pinned; cause=ok".to_owned()));
    }
    let samples = stage.replicas[0].admin.samples().await;
    let lost = [("decision", "pinned"), ("cause", "endpoint_lost")];
    assert_eq!(samples.sum("affinity_requests_total", &lost), 1.0);
    assert_eq!(stage.moves().await, 0.0);
}

#[tokio::test]
async fn an_abort_moves_sessions_once_each_to_one_endpoint_of_the_other_group() {
    let stage = Stage::new().await;
    let mut clients: Vec<_> = (0..20).map(|n| Client::new(n, &stage.history)).collect();
    for client in &mut clients {
        stage.get(client, 0).await;
    }
    let to_new = json!({ "to": NEW });
    let admin = &stage.replicas[0].admin;
    admin.weights(&json!({ NEW: 1 })).await.accepted();
    admin.verb(OLD, "abort", &to_new).await.accepted();
    for client in &mut clients {
        let (endpoint, decision) = stage.get(client, 0).await;
        assert_eq!(decision, "moved; cause=aborted");
        assert!(endpoint.starts_with(NEW), "it reached {endpoint}");
        for through in 0..4 {
            let (later, decision) = stage.get(client, through).await;
            assert_eq!(later, endpoint, "{decision}");
            assert!(decision.starts_with("pinned"), "{decision}");
        }
    }
    assert_eq!(stage.moves().await, 20.0);
}
