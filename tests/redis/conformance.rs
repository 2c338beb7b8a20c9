//! The facts of every store, on one server and on a cluster.

use std::sync::Arc;

use tower_affinity::core::RowCodec;
use tower_affinity::redis::{RedisOptions, RedisStore};
use tower_affinity_testing::store::{Planted, SERVICE, conform, conform_rows};

use crate::support::{Cluster, RedisServer, shared, store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_fulfils_the_contract() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    conform(|place| shared(store(&server, place))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_fulfils_the_contract() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let make = |place: &str| {
        let options = RedisOptions::new()
            .cluster(true)
            .response_timeout(std::time::Duration::from_secs(5));
        let store = RedisStore::new(cluster.urls(), place, SERVICE.parse().unwrap(), options);
        shared(store.unwrap())
    };
    conform(make).await;
    for node in &cluster.nodes {
        let size = node.say(&["DBSIZE"]).await;
        let size: u64 = size.trim_start_matches(':').trim().parse().unwrap();
        assert!(size > 100, "a node has only {size} keys");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_row_of_ours_is_not_used() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let server = Arc::new(server);
    conform_rows(
        |place| shared(store(&server, place)),
        async |place: &'static str, planted: Planted| {
            let Planted { key, row, pin } = planted;
            let bucket = key.parts().1 % 64;
            let name = format!("{{{place}:{bucket:02}}}:{key}");
            let group = pin.group.known().unwrap();
            let label = format!("{group}@");
            let head = format!(
                "1{}{:020}{:020}{}{:04}{label}",
                RowCodec::rank(&pin),
                pin.started.as_secs(),
                pin.expires.as_secs(),
                pin.session,
                label.len(),
            );
            let row = [head.as_bytes(), &row].concat();
            let set = server.say_bytes(&[b"SET", name.as_bytes(), &row]).await;
            assert_eq!(set, "+OK\r\n");
        },
    )
    .await;
}
