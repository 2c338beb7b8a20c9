//! Servers, and stores over them.

mod cluster;
mod server;
mod talk;

use std::sync::Arc;

use tower_affinity::core::PinStore;
use tower_affinity::redis::{RedisOptions, RedisStore};
use tower_affinity_testing::store::SERVICE;

pub(crate) use cluster::Cluster;
pub(crate) use server::RedisServer;

/// A store of the facts' service under that prefix.
pub(crate) fn store(server: &RedisServer, prefix: &str) -> RedisStore {
    with(server, prefix, RedisOptions::new())
}

pub(crate) fn with(server: &RedisServer, prefix: &str, options: RedisOptions) -> RedisStore {
    let service = SERVICE.parse().unwrap();
    RedisStore::new([server.url()], prefix, service, patient(options)).unwrap()
}

pub(crate) fn shared(store: RedisStore) -> Arc<dyn PinStore> {
    Arc::new(store)
}

/// A machine that runs many tests at once is slower than any that serves.
fn patient(options: RedisOptions) -> RedisOptions {
    options.response_timeout(std::time::Duration::from_secs(5))
}
