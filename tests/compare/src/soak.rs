//! A long run against the gateway alone: some million requests, while weights are changed and the
//! configuration is read anew. Every answer is looked at.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use affinity_tests::config::Config;
use affinity_tests::process::Process;
use affinity_tests::tls::Pair;
use affinity_tests::{Scratch, until};
use serde_json::json;
use tokio::time::sleep;

use crate::load::{self, Client, Faults, Load};
use crate::pins;
use crate::pods::{GROUPS, Pods};
use crate::proxies::{Site, config};

/// What is sent between two looks at how much is left.
const LOAD: Load = Load {
    connections: 64,
    path: "/",
    closes: false,
    rate: None,
    warm: Duration::ZERO,
    span: Duration::from_secs(5),
};

/// How often something is changed.
const CHANGES: Duration = Duration::from_secs(2);

/// Sends so many requests; how many were answered, what was changed meanwhile, and what was wrong.
pub(crate) fn run(gateway: &Path, requests: u64) -> Faults {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime
        .expect("a runtime")
        .block_on(soak(gateway, requests))
}

async fn soak(gateway: &Path, requests: u64) -> Faults {
    let (pods, certificate) = (Pods::start(), Pair::until_the_end_of(2099));
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = config(
        free,
        Site {
            pods: &pods,
            threads: 1,
            certificate: &certificate,
        },
    );
    let dir = Scratch::new();
    let process = Process::start_binary(gateway, &config.write(&dir, "gateway.toml")).await;
    let address = process.address();
    // before any weight is changed
    let clients = pins::gather(address);
    let sending = tokio::task::spawn_blocking(move || send(address, clients, requests));
    let mut changes = Changes {
        process: &process,
        dir: &dir,
        config,
        weights: 0,
        edits: 0,
    };
    while !sending.is_finished() {
        changes.weights().await;
        sleep(CHANGES).await;
        changes.edit().await;
        sleep(CHANGES).await;
    }
    let (answers, faults) = sending.await.expect("nothing panics");
    println!(
        "{answers} answers, {} changes of weights, {} edits of the configuration: {faults:?}",
        changes.weights, changes.edits
    );
    faults
}

/// Sends until so many answers have come.
fn send(to: SocketAddr, mut clients: Vec<Client>, requests: u64) -> (u64, Faults) {
    // one in five is new
    let new = clients.len() / 4;
    clients.extend(std::iter::repeat_n(Client::NEW, new));
    let (mut answers, mut faults) = (0, Faults::default());
    while answers < requests {
        let outcome = load::run(&LOAD, to, &clients, || ());
        assert!(outcome.answers > 0, "nothing is answered any more");
        answers += outcome.answers;
        faults += outcome.faults;
    }
    (answers, faults)
}

/// What is changed in the running gateway.
struct Changes<'a> {
    process: &'a Process,
    dir: &'a Scratch,
    config: Config,
    weights: u64,
    edits: u64,
}

impl Changes<'_> {
    /// Other shares of new sessions, by the admin side.
    async fn weights(&mut self) {
        self.weights += 1;
        let share = share(self.weights);
        let weights = json!({ GROUPS[0]: 100 - share, GROUPS[1]: share });
        self.process.admin().weights(&weights).await.accepted();
    }

    /// Another limit in the file, for which the whole path of requests is built anew, and other shares,
    /// which show that the file was read.
    async fn edit(&mut self) {
        self.edits += 1;
        let share = share(self.edits) + 1;
        self.config.listen = format!("max_headers = {}", 100 + share);
        for (group, weight) in self.config.groups.iter_mut().zip([100 - share, share]) {
            group.weight = weight;
        }
        self.dir.write("gateway.toml", self.config.text());
        until("an edit that takes effect", async || {
            let group = self.process.admin().group(GROUPS[1]).await;
            (group["weight"] == share).then_some(())
        })
        .await;
    }
}

/// The share of the second group after so many changes, in percent.
fn share(changes: u64) -> u16 {
    10 + (changes % 8) as u16 * 10
}
