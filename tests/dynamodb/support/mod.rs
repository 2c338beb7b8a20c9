//! Servers, and stores over them.

mod between;
mod server;
mod talk;

use std::sync::Arc;
use std::time::Duration;

use tower_affinity::core::PinStore;
use tower_affinity::dynamodb::{DynamoOptions, DynamoStore};
use tower_affinity_testing::store::SERVICE;

pub(crate) use between::{Between, Mood};
pub(crate) use server::{DynamoServer, Tells};
pub(crate) use talk::{item, items, put};

/// The table of all tests.
pub(crate) const TABLE: &str = "affinity";

/// What says where a server is, with credentials that it does not look at, for a machine that runs
/// many tests at once and is slower than any that serves.
pub(crate) fn options(url: &str) -> DynamoOptions {
    DynamoOptions::new("eu-central-1", "AKIAEXAMPLE", "of-no-server")
        .endpoint(url)
        .response_timeout(Duration::from_secs(10))
}

/// A store of the facts' service under that prefix, which counts whenever it is asked to.
pub(crate) fn store(url: &str, prefix: &str) -> DynamoStore {
    let options = options(url).count_every(Duration::ZERO);
    DynamoStore::new(TABLE, prefix, SERVICE.parse().unwrap(), options).unwrap()
}

pub(crate) fn shared(store: DynamoStore) -> Arc<dyn PinStore> {
    Arc::new(store)
}
