//! Keys and cookies that are edited under running sessions.

use affinity_gateway::ReloadError;
use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::{Replica, load};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const RING: &str = "keys = [\"2026-11:file:key\"]";

/// Sessions in both groups, and a gateway whose file is edited.
struct Stage {
    fleet: Fleet,
    dir: Scratch,
    text: String,
    replica: Replica,
    history: History,
    clients: Vec<(Client, String)>,
}

impl Stage {
    async fn new() -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 1).await;
        let dir = Scratch::new();
        let config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
        let replica = Replica::start(&dir, &config).await;
        let history = History::default();
        let mut clients = Vec::new();
        for number in 0..12 {
            let mut client = Client::new(number, &history);
            let group = client
                .get(replica.address(), "/")
                .await
                .group()
                .unwrap()
                .to_owned();
            clients.push((client, group));
        }
        Self {
            fleet,
            dir,
            text: config.text(),
            replica,
            history,
            clients,
        }
    }

    fn edit(&self, from: &str, to: &str) -> Result<(), ReloadError> {
        assert!(self.text.contains(from), "the file does not hold {from:?}");
        let file = self.dir.write("gateway.toml", self.text.replace(from, to));
        self.replica.gateway.reload(load(&file)).map(drop)
    }

    /// Every session is still pinned to the group of its first answer.
    async fn assert_kept(&mut self) {
        for (client, group) in &mut self.clients {
            let answer = client.get(self.replica.address(), "/").await;
            assert_eq!(answer.group(), Some(group.as_str()), "a session moved");
            let decision = self.fleet.ledger().of(answer.request).decision().to_owned();
            assert_eq!(decision, "pinned; cause=ok");
        }
    }
}

#[tokio::test]
async fn a_rotation_by_edits_keeps_every_session_and_no_key_leaves_early() {
    let mut stage = Stage::new().await;
    stage
        .dir
        .write("next", "u1NfQ7xYb5LzK0jVhT3sRmPw9gCeDi6AoG2kXq8Bn4E");
    // known first, then it signs
    stage
        .edit(RING, "keys = [\"2026-11:file:key\", \"2026-12:file:next\"]")
        .unwrap();
    stage.assert_kept().await;
    stage
        .edit(RING, "keys = [\"2026-12:file:next\", \"2026-11:file:key\"]")
        .unwrap();
    stage.assert_kept().await;
    let mut fresh = Client::new(100, &stage.history);
    fresh.get(stage.replica.address(), "/").await;
    let head = fresh
        .jar
        .value(COOKIE)
        .unwrap()
        .split('.')
        .next()
        .unwrap()
        .to_owned();
    let verified = async |kid| {
        let samples = stage.replica.admin.samples().await;
        samples.sum("affinity_pins_verified_total", &[("kid", kid)])
    };
    assert_eq!(verified("2026-12").await, 0.0, "{head}");
    fresh.get(stage.replica.address(), "/").await;
    assert_eq!(
        (verified("2026-12").await, verified("2026-11").await),
        (1.0, 24.0)
    );

    let early = stage
        .edit(RING, "keys = [\"2026-12:file:next\"]")
        .unwrap_err()
        .to_string();
    assert!(
        early.contains("2026-11") && early.contains("drop_early"),
        "{early}"
    );
    stage.assert_kept().await;
    let dropped = "keys = [\"2026-12:file:next\"]\ndrop_early = [\"2026-11\"]";
    stage.edit(RING, dropped).unwrap();
    for (client, _) in &mut stage.clients {
        let answer = client.get(stage.replica.address(), "/").await;
        let decision = stage
            .fleet
            .ledger()
            .of(answer.request)
            .decision()
            .to_owned();
        assert_eq!(
            (answer.status.as_u16(), decision.as_str()),
            (200, "assigned; cause=unknown_key")
        );
    }
    stage.history.balances(stage.fleet.ledger());
}

#[tokio::test]
async fn a_renamed_cookie_is_read_under_both_names() {
    let mut stage = Stage::new().await;
    stage
        .edit("[pin]", "[pin]\ncookie = { secure = false }")
        .unwrap();
    stage.assert_kept().await;
    let mut fresh = Client::new(100, &stage.history);
    fresh.get(stage.replica.address(), "/").await;
    assert!(
        fresh.jar.value("affinity-checkout").is_some(),
        "the new name is not written"
    );
    assert_eq!(fresh.jar.value(COOKIE), None);
}
