//! Configuration files that are wrong in ways nobody thought of, fed to a gateway under traffic.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use affinity_gateway::Gateway;
use affinity_gateway::config::{self, Settings};
use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::{Replica, load};
use tokio::task::JoinSet;
use tower_affinity::core::Rollout;
use tower_affinity_testing::mutate;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// How many files are fed.
const FILES: u64 = 10_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutated_files_apply_nothing_invalid_and_disturb_no_session() {
    let fleet = Fleet::start(&[OLD, NEW], 3).await;
    let dir = Scratch::new();
    let mut file = Config::new(&fleet, &[(OLD, 50), (NEW, 50)]);
    file.sections = "[upstream]\nconnect_timeout = \"1s\"\nresponse_timeout = \"30s\"\n\
                     [rollback]\npolicy = \"move\"\nwithin = \"10m\"\n\
                     [[scope]]\npath = \"/static/*\"\naffinity = \"follow\"\n\
                     [[scope]]\npath = \"/*\"\naffinity = \"group\"\nassign = \"session\"\n"
        .to_owned();
    file.pin = "carriers = [\"cookie\", \"header\"]\nidle_ttl = \"30m\"\nmax_age = \"4h\"\n\
                local_idle_timeout = \"10m\"\ncookie = { secure = true, same_site = \"lax\" }"
        .to_owned();
    let replica = Replica::start(&dir, &file).await;
    let sessions = Sessions::begin(replica.address());
    // the feeder blocks: it parses, and writes state files
    let (text, path, gateway) = (file.text(), replica.file.clone(), replica.gateway);
    let feeder = tokio::task::spawn_blocking(move || {
        let mut tally = Tally {
            good: load(&path),
            loud: 0,
            refused: 0,
            applied: 0,
        };
        for seed in 0..FILES {
            tally.feed(&gateway, &path, &mutate(seed, &text), seed);
        }
        (gateway, tally)
    });
    let (gateway, tally) = feeder.await.expect("nothing panics");
    let history = sessions.end().await;

    assert!(
        tally.refused > FILES / 3,
        "only {} files were refused",
        tally.refused
    );
    assert!(
        tally.loud < FILES / 3,
        "{} files were not applied",
        tally.loud
    );
    assert!(
        tally.applied > FILES / 100,
        "only {} files were applied",
        tally.applied
    );
    assert_eq!(gateway.control().rollouts().current().groups().len(), 2);
    assert_undisturbed(&history, 50);
    history.balances(fleet.ledger());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_cut_at_any_byte_applies_nothing_or_a_whole_configuration() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 50), (NEW, 50)]);
    let replica = Replica::start(&dir, &file).await;
    let sessions = Sessions::begin(replica.address());
    let (text, path, gateway) = (file.text(), replica.file.clone(), replica.gateway);
    let pieces = text.len() as u64;
    let feeder = tokio::task::spawn_blocking(move || {
        let mut tally = Tally {
            good: load(&path),
            loud: 0,
            refused: 0,
            applied: 0,
        };
        for at in 0..text.len() {
            tally.feed(&gateway, &path, &text[..at], at as u64);
        }
        (gateway, tally)
    });
    let (gateway, tally) = feeder.await.expect("nothing panics");
    let history = sessions.end().await;
    let whole = gateway.control().rollouts().current();
    assert_eq!(whole.groups().len(), 2);
    assert!(
        tally.refused > pieces / 2,
        "only {} were refused",
        tally.refused
    );
    assert_undisturbed(&history, 1);
    history.balances(fleet.ledger());
}

/// Sessions that go on until they are told to end.
struct Sessions {
    history: History,
    stop: Arc<AtomicBool>,
    running: JoinSet<()>,
}

impl Sessions {
    fn begin(address: SocketAddr) -> Self {
        let (history, stop) = (History::default(), Arc::new(AtomicBool::new(false)));
        let mut running = JoinSet::new();
        for number in 0..8 {
            let (mut client, stop) = (Client::new(number, &history), Arc::clone(&stop));
            running.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    client.get(address, "/step").await;
                    tokio::task::yield_now().await;
                }
            });
        }
        Self {
            history,
            stop,
            running,
        }
    }

    async fn end(mut self) -> History {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(session) = self.running.join_next().await {
            session.expect("a session finishes");
        }
        self.history
    }
}

/// Each session was served all the time, by one group, and more than `few` times.
fn assert_undisturbed(history: &History, few: usize) {
    let clients = history.by_client();
    assert_eq!(clients.len(), 8);
    for (client, entries) in clients {
        let sent = entries.len();
        assert!(sent > few, "client {client} sent only {sent}");
        let odd = entries
            .iter()
            .find(|e| e.status != 200 || e.group != entries[0].group);
        assert!(odd.is_none(), "client {client} was disturbed: {odd:?}");
    }
}

struct Tally {
    good: Settings,
    /// Right files that sessions would notice; these are not applied.
    loud: u64,
    refused: u64,
    applied: u64,
}

impl Tally {
    fn feed(&mut self, gateway: &Gateway, file: &Path, text: &str, seed: u64) {
        let before = gateway.control().rollouts().current();
        let parsed = config::parse(text, file.parent().expect("a directory"), &|_| None);
        let Ok(settings) = parsed else {
            self.refused += 1;
            return;
        };
        // a right file may ask for other endpoints or scopes, which sessions would rightly notice
        if !is_quiet(&self.good, &settings) {
            self.loud += 1;
            return;
        }
        match gateway.reload(settings) {
            Err(_) => {
                let after = gateway.control().rollouts().current();
                assert_eq!(
                    *after, *before,
                    "seed {seed}: a refused file changed something"
                );
                self.refused += 1;
            }
            Ok(changed) => {
                assert!(changed.after.revision() >= before.revision(), "seed {seed}");
                assert_valid(&changed.after, seed);
                self.applied += 1;
                let good = gateway.reload(self.good.clone());
                good.unwrap_or_else(|e| panic!("seed {seed}: the good file is refused: {e}"));
            }
        }
    }
}

/// Whether sessions go on as before: the same endpoints, scopes and carriers.
fn is_quiet(good: &Settings, settings: &Settings) -> bool {
    let endpoints = |settings: &Settings| -> Vec<_> {
        settings
            .groups
            .iter()
            .map(|group| (group.name.clone(), group.endpoints.clone()))
            .collect()
    };
    endpoints(good) == endpoints(settings)
        && good.scopes == settings.scopes
        && good.pin.carriers == settings.pin.carriers
        && good.pin.lifetimes == settings.pin.lifetimes
}

/// One stable active group, and some weight among active ones only.
fn assert_valid(rollout: &Rollout, seed: u64) {
    let active = |state: &str| state == "active";
    let stable = rollout
        .group(rollout.stable())
        .expect("the stable group is there");
    assert!(active(stable.state().name()), "seed {seed}: {rollout:?}");
    let mut weight = 0;
    for group in rollout.groups() {
        let own = u32::from(group.weight().get());
        assert!(
            own == 0 || active(group.state().name()),
            "seed {seed}: {group:?}"
        );
        weight += own;
    }
    assert!(weight > 0, "seed {seed}: {rollout:?}");
}
