//! Assignments that the gateway keeps: for clients that carry nothing but an id.

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use http::Request;
use http_body_util::Full;
use serde_json::json;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const BY_USER: &str = "[[scope]]\npath = \"/*\"\nassign = \"header:x-user\"\n";
const MEMORY: &str = "[store]\nkind = \"memory\"\n";

struct Stage {
    fleet: Fleet,
    _dir: Scratch,
    replica: Replica,
    history: History,
}

impl Stage {
    async fn new(weights: [u16; 2], sections: &str) -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 2).await;
        let dir = Scratch::new();
        let mut config = Config::new(&fleet, &[(OLD, weights[0]), (NEW, weights[1])]);
        config.sections = sections.to_owned();
        let replica = Replica::start(&dir, &config).await;
        Self {
            fleet,
            _dir: dir,
            replica,
            history: History::default(),
        }
    }

    /// A request of a client that returns no cookie: which group served it, the decision, and the
    /// session.
    async fn ask(&self, user: &str, says: Option<&str>) -> (String, String, String) {
        let mut client = Client::new(0, &self.history);
        let mut request = Request::get("/").header("x-user", user);
        if let Some(says) = says {
            request = request.header("x-answer", says);
        }
        let request = request.body(Full::default()).unwrap();
        let answer = client.send(self.replica.address(), request).await;
        let execution = self.fleet.ledger().of(answer.request);
        let session = execution.headers["affinity-session"].to_str().unwrap();
        (
            answer.group().unwrap().to_owned(),
            execution.decision().to_owned(),
            session.to_owned(),
        )
    }

    async fn live(&self, group: &str) -> f64 {
        let samples = self.replica.admin.samples().await;
        samples.sum("affinity_store_sessions", &[("group", group)])
    }
}

#[tokio::test]
async fn who_carries_nothing_but_an_id_stays_on_its_commit() {
    let stage = Stage::new([1, 0], &format!("{BY_USER}{MEMORY}")).await;
    let (group, decision, session) = stage.ask("ann", None).await;
    assert_eq!((&*group, &*decision), (OLD, "assigned; cause=keyed"));
    assert_eq!(stage.live(OLD).await, 1.0);
    let samples = stage.replica.admin.samples().await;
    let up = samples.sum("affinity_store_up", &[]);
    assert_eq!(up, 1.0, "a store that never failed is shown");
    let weights = json!({ OLD: 0, NEW: 1 });
    stage.replica.admin.weights(&weights).await.accepted();
    for _ in 0..3 {
        let again = stage.ask("ann", None).await;
        let expected = (
            OLD.to_owned(),
            "pinned; cause=ok".to_owned(),
            session.clone(),
        );
        assert_eq!(again, expected);
    }
    let other = stage.ask("bob", None).await;
    assert_eq!(other.0, NEW, "a new one follows the weights");
    assert_ne!(other.2, session);
    assert_eq!((stage.live(OLD).await, stage.live(NEW).await), (1.0, 1.0));
}

#[tokio::test]
async fn an_abort_moves_it_once_and_its_application_ends_it() {
    let stage = Stage::new([0, 1], &format!("{BY_USER}{MEMORY}")).await;
    let (group, _, session) = stage.ask("ann", None).await;
    assert_eq!(group, NEW);
    let to = json!({ "to": OLD });
    let abort = stage.replica.admin.verb(NEW, "abort", &to);
    abort.await.accepted();
    let moved = stage.ask("ann", None).await;
    let expected = (
        OLD.to_owned(),
        "moved; cause=aborted".to_owned(),
        session.clone(),
    );
    assert_eq!(moved, expected);
    let (group, decision, kept) = stage.ask("ann", Some("affinity-session: end")).await;
    assert_eq!(
        (&*group, &*decision),
        (OLD, "pinned; cause=ok"),
        "moved again"
    );
    assert_eq!(kept, session);
    assert_eq!((stage.live(OLD).await, stage.live(NEW).await), (0.0, 0.0));
    let (_, decision, next) = stage.ask("ann", None).await;
    assert_eq!(decision, "assigned; cause=keyed", "its row outlived it");
    assert_ne!(next, session);
}

/// SEC-58 and SEC-59, in short.
#[tokio::test]
async fn who_shows_neither_a_pin_nor_an_id_makes_no_row() {
    let sections = format!("[[scope]]\npath = \"/*\"\nassign = \"least_loaded\"\n{MEMORY}");
    let stage = Stage::new([1, 1], &sections).await;
    let mut kept = Client::new(1, &stage.history);
    for _ in 0..2 {
        kept.get(stage.replica.address(), "/").await;
    }
    assert!(kept.jar.value(COOKIE).is_some());
    for _ in 0..200 {
        let mut bot = Client::new(2, &stage.history);
        bot.get(stage.replica.address(), "/").await;
    }
    let live = stage.live(OLD).await + stage.live(NEW).await;
    assert_eq!(live, 1.0, "those that never return count");
}

/// A load that is spread by live sessions follows the sessions, and not the requests.
#[tokio::test]
async fn new_sessions_go_where_the_fewest_live() {
    let sections = format!("[[scope]]\npath = \"/*\"\nassign = \"least_loaded\"\n{MEMORY}");
    let stage = Stage::new([1, 1], &sections).await;
    let address = stage.replica.address();
    // all of these live in one group: those that were drawn to the other one never come back
    let mut settled = Vec::new();
    let mut number = 10;
    while settled.len() < 40 {
        let mut client = Client::new(number, &stage.history);
        number += 1;
        if client.get(address, "/").await.group() == Some(OLD) {
            client.get(address, "/").await;
            settled.push(client);
        }
    }
    assert_eq!(stage.live(OLD).await, 40.0);
    let mut to_new = 0;
    for _ in 0..200 {
        let mut client = Client::new(number, &stage.history);
        number += 1;
        to_new += u32::from(client.get(address, "/").await.group() == Some(NEW));
    }
    // two draws of equal weight miss the emptier group once in four times
    assert!((125..=175).contains(&to_new), "{to_new} of 200");
}
