//! [`Cluster`]: three gateways over one etcd, with endpoints behind them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use affinity_gateway::Gateway;
use affinity_tests::admin::Admin;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use tower_affinity::core::Timestamp;
use tower_affinity_testing::HandClock;
use tower_affinity_testing::engine::EtcdServer;

use super::link::Link;

pub(crate) const STABLE: &str = "9f1c2ab";
pub(crate) const BAD: &str = "c3d4e5f";
pub(crate) const OTHER: &str = "0a1b2c3";

/// One of the gateways, with its own clock and its own way to etcd.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) replica: Replica,
    pub(crate) link: Link,
    pub(crate) clock: HandClock,
}

impl Member {
    pub(crate) fn address(&self) -> SocketAddr {
        self.replica.address()
    }

    pub(crate) fn admin(&self) -> &Admin {
        &self.replica.admin
    }

    /// The state of a group on which it decides now.
    pub(crate) fn state(&self, group: &str) -> &'static str {
        let rollout = self.replica.gateway.control().rollouts().current();
        let group = rollout.group(&group.parse().expect("a name"));
        group.map_or("unknown", |group| group.state().name())
    }
}

/// Gateways over one etcd; each keeps a file of its own.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) members: Vec<Member>,
    pub(crate) fleet: Fleet,
    pub(crate) dir: Scratch,
    pub(crate) config: Config,
    pub(crate) etcd: EtcdServer,
}

impl Cluster {
    /// Three gateways; `None` if this machine has no etcd.
    pub(crate) async fn start(weights: &[(&str, u16)]) -> Option<Self> {
        Self::start_with(weights, |config| config).await
    }

    /// The same with another configuration.
    pub(crate) async fn start_with(
        weights: &[(&str, u16)],
        change: impl FnOnce(Config) -> Config,
    ) -> Option<Self> {
        let etcd = EtcdServer::start().await?;
        let names: Vec<_> = weights.iter().map(|(name, _)| *name).collect();
        let fleet = Fleet::start(&names, 2).await;
        let mut cluster = Self {
            members: Vec::new(),
            config: change(Config::new(&fleet, weights)),
            dir: Scratch::new(),
            fleet,
            etcd,
        };
        for number in 1..=3 {
            let clock = HandClock::at(Timestamp::from_secs(1_800_000_000));
            let member = cluster.member(number, clock).await;
            cluster.members.push(member);
        }
        Some(cluster)
    }

    /// Starts the gateway of that number.
    pub(crate) async fn member(&self, number: usize, clock: HandClock) -> Member {
        let config = Config {
            state: format!("state-{number}.json"),
            ..self.config.clone()
        };
        let link = Link::to(&self.etcd);
        let (time, engine) = (Arc::new(clock.clone()), Arc::new(link.clone()));
        let start = async |settings| Gateway::start_with_engine(settings, time, engine).await;
        let name = format!("gateway-{number}.toml");
        let replica = Replica::started(&self.dir, &config, &name, start).await;
        Member {
            replica,
            link,
            clock,
        }
    }

    /// Where clients are served.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(Member::address).collect()
    }

    /// Moves the clocks of all on.
    pub(crate) fn advance(&self, span: Duration) {
        for member in &self.members {
            member.clock.advance(span);
        }
    }

    /// Waits until all decide on that state of a group.
    pub(crate) async fn all_have(&self, group: &str, state: &str) {
        until(&format!("{group} is {state} everywhere"), async || {
            let mut states = self.members.iter().map(|member| member.state(group));
            states.all(|now| now == state).then_some(())
        })
        .await;
    }
}
