//! The plain store is a store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tower_affinity_core::MemoryStore;

use super::parts::codec;
use super::{PlainStore, conform, conform_bounded, conform_rows};

/// One store for each place.
#[derive(Default)]
struct Places(Mutex<BTreeMap<String, PlainStore>>);

impl Places {
    fn at(&self, place: &str) -> PlainStore {
        let mut places = self.0.lock().unwrap();
        let store = places.entry(place.to_owned());
        store.or_insert_with(|| PlainStore::new(codec())).clone()
    }
}

#[tokio::test]
async fn the_plain_store_fulfils_the_contract() {
    let places = Places::default();
    conform(|place| Arc::new(places.at(place))).await;
}

#[tokio::test]
async fn the_plain_store_keeps_to_its_capacity() {
    conform_bounded(|capacity| Arc::new(PlainStore::bounded(codec(), capacity))).await;
}

#[tokio::test]
async fn the_plain_store_uses_no_foreign_row() {
    let places = Places::default();
    conform_rows(
        |place| Arc::new(places.at(place)),
        async |place, planted| places.at(place).plant(planted.key, planted.row),
    )
    .await;
}

#[tokio::test]
async fn the_store_in_memory_fulfils_the_contract() {
    let places: Mutex<BTreeMap<String, Arc<MemoryStore>>> = Mutex::default();
    conform(|place| {
        let mut places = places.lock().unwrap();
        let store = places.entry(place.to_owned());
        store
            .or_insert_with(|| Arc::new(MemoryStore::new(1 << 20)))
            .clone()
    })
    .await;
    conform_bounded(|capacity| Arc::new(MemoryStore::new(capacity))).await;
}
