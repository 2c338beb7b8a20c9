//! [`Cluster`]: three nodes that share the slots.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::server::{LOOK, RedisServer, free};

/// A cluster of three primaries without replicas.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<RedisServer>,
}

/// Far above what nodes take to find each other.
const BOUND: Duration = Duration::from_secs(60);

impl Cluster {
    pub(crate) async fn start() -> Option<Self> {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let bus = free().port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            nodes.push((RedisServer::start(&options).await?, bus));
        }
        let slots = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
        for ((node, _), (from, to)) in nodes.iter().zip(slots) {
            let added = node.say(&["CLUSTER", "ADDSLOTSRANGE", from, to]).await;
            assert_eq!(added, "+OK\r\n");
        }
        let first = &nodes[0].0;
        for (node, bus) in &nodes[1..] {
            let port = node.address().port().to_string();
            let met = first
                .say(&["CLUSTER", "MEET", "127.0.0.1", &port, bus])
                .await;
            assert_eq!(met, "+OK\r\n");
        }
        let cluster = Self {
            nodes: nodes.into_iter().map(|(node, _)| node).collect(),
        };
        let begin = Instant::now();
        while !cluster.is_ready().await {
            assert!(begin.elapsed() < BOUND, "the nodes do not find each other");
            sleep(LOOK).await;
        }
        Some(cluster)
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(RedisServer::url).collect()
    }

    async fn is_ready(&self) -> bool {
        for node in &self.nodes {
            let info = node.say(&["CLUSTER", "INFO"]).await;
            let wanted = [
                "cluster_state:ok",
                "cluster_known_nodes:3",
                "cluster_size:3",
            ];
            if !wanted.iter().all(|line| info.contains(line)) {
                return false;
            }
        }
        true
    }
}
