//! F36: a replica takes the place of its primary and lacks the last writes.

use std::time::Duration;

use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::proxy::{Fault, Proxy};
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use serde_json::json;

use super::stage::{NEW, OLD, PATIENT, sections};
use super::users::{Paths, Shows, all_ask, users};
use crate::support::RedisServer;

/// A primary and a replica of it, with a proxy between them.
pub(crate) struct Servers {
    pub(crate) primary: RedisServer,
    pub(crate) replica: RedisServer,
    pub(crate) between: Proxy,
}

impl Servers {
    pub(crate) async fn start() -> Option<Self> {
        let primary = RedisServer::start(&[]).await?;
        let between = Proxy::to(primary.address()).await;
        let (host, port) = (between.address().ip(), between.address().port());
        let master = [&*host.to_string(), &*port.to_string()];
        let replica = RedisServer::start(&["--replicaof", master[0], master[1]]).await?;
        let servers = Self {
            primary,
            replica,
            between,
        };
        servers.caught_up().await;
        Some(servers)
    }

    /// Waits until the replica has every write.
    pub(crate) async fn caught_up(&self) {
        until("the replica has caught up", async || {
            let there = self.replica.say(&["INFO", "replication"]).await;
            let here = self.primary.say(&["INFO", "replication"]).await;
            let is_there =
                number(&here, "master_repl_offset") == number(&there, "slave_repl_offset");
            (there.contains("master_link_status:up") && is_there).then_some(())
        })
        .await;
    }

    /// From now on no write reaches the replica.
    pub(crate) fn part(&self) {
        self.between.inject(Fault::silent());
    }

    pub(crate) async fn promote(&self) {
        let promoted = self.replica.say(&["REPLICAOF", "NO", "ONE"]).await;
        assert_eq!(promoted, "+OK\r\n");
    }
}

fn number(info: &str, name: &str) -> Option<u64> {
    let mut lines = info.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.parse().ok()
}

/// A gateway over the server behind a proxy, at which everybody gets the old group.
pub(crate) async fn gateway(dir: &Scratch, fleet: &Fleet, to: &Proxy, name: &str) -> Replica {
    let mut config = Config::new(fleet, &[(OLD, 1), (NEW, 0)]);
    config.sections = sections(&format!("redis://{}", to.address()), PATIENT);
    config.state = format!("{name}.json");
    Replica::named(dir, &config, &format!("{name}.toml")).await
}

/// From now on whoever is drawn gets that group.
pub(crate) async fn draw(gateway: &Replica, group: &str) {
    let weights = json!({ OLD: u16::from(group == OLD), NEW: u16::from(group == NEW) });
    gateway.admin.weights(&weights).await.accepted();
}

/// Asks as somebody new until the store has a say again.
pub(crate) async fn until_asked(gateway: &Replica, fleet: &Fleet, history: &History, user: u64) {
    let mut user = users(user, 1, Shows::Id, history);
    until("the store is used again", async || {
        all_ask(&mut user, gateway.address()).await;
        let last = fleet.ledger().entries().pop().unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        (!last.decision().ends_with("store_unavailable")).then_some(())
    })
    .await;
}

const SAVED: u64 = 60;
const LOST: u64 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f36_writes_that_a_failover_loses_move_nobody_more_than_once() {
    let Some(mut servers) = Servers::start().await else {
        return;
    };
    let to = Proxy::to(servers.primary.address()).await;
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let gateway = gateway(&dir, &fleet, &to, "gateway").await;
    let (at, history) = (gateway.address(), History::default());
    let mut with_cookies = users(0, SAVED, Shows::Cookies, &history);
    let mut with_both = users(1_000, SAVED, Shows::Both, &history);
    let mut saved = users(2_000, SAVED, Shows::Id, &history);
    until_asked(&gateway, &fleet, &history, 9_000).await;
    for users in [&mut with_cookies, &mut saved] {
        all_ask(users, at).await;
    }
    servers.caught_up().await;
    servers.part();
    let mut lost = users(3_000, LOST, Shows::Id, &history);
    for users in [&mut with_cookies, &mut with_both, &mut lost] {
        all_ask(users, at).await;
    }
    // whoever is drawn anew gets the other group
    draw(&gateway, NEW).await;
    let mut everybody = [with_cookies, with_both, saved, lost];
    for users in &mut everybody {
        all_ask(users, at).await;
    }
    servers.primary.stop();
    for users in &mut everybody {
        all_ask(users, at).await;
    }
    servers.promote().await;
    to.turn_to(servers.replica.address());
    for round in 0..4 {
        for users in &mut everybody {
            all_ask(users, at).await;
        }
        if round == 0 {
            until_asked(&gateway, &fleet, &history, 9_001).await;
        }
    }

    let paths = Paths::of(&history, &fleet);
    let moves = everybody.each_ref().map(|users| paths.moves(users));
    let blind = everybody.each_ref().map(|users| paths.blind(users));
    println!(
        "F36 fail-over: {} requests, {LOST} lost first claims; moves of users with cookies, with \
         both, with saved rows, with lost rows: {moves:?}; answers without the store {blind:?}",
        history.len(),
    );
    assert_eq!(
        moves[..3],
        [0, 0, 0],
        "a pin or a row that was kept decides"
    );
    assert!(moves[3] as u64 <= LOST, "{} moves", moves[3]);
    assert!(moves[3] > 0, "nothing was lost");
    assert_eq!(blind[..2], [0, 0], "a pin decides without a store");
}
