//! What must hold in every order.

use std::sync::Arc;
use std::time::Duration;

use shuttle::thread;
use tower_affinity_core::{
    Claim, EndpointId, GroupId, Lifetimes, Live, LiveCounts, MoveCause, PinStore, Revision, RowKey,
    SessionId, SessionPin, StoreCall, Terms, Timestamp,
};

use crate::store::memory::MemoryStore;

pub(crate) const ALL: [(&str, fn()); 5] = [
    ("claims of one key agree", claims_of_one_key_agree),
    ("moves are counted once", moves_are_counted_once),
    (
        "the last row takes the name with it",
        the_last_row_takes_the_name_with_it,
    ),
    (
        "a row that is late is swept all the same",
        a_late_row_is_swept_all_the_same,
    ),
    (
        "a full store stays within its capacity",
        a_full_store_stays_within_its_capacity,
    ),
];

const START: u64 = 1_800_000_000;

fn got<T>(call: StoreCall<T>) -> T {
    match call {
        StoreCall::Ready(Some(Ok(answer))) => answer,
        other => panic!("{other:?} is no answer"),
    }
}

fn terms(secs: u64) -> Terms {
    let lifetimes = Lifetimes::new(Duration::from_secs(10), Duration::from_secs(100)).unwrap();
    let now = Timestamp::from_secs(START + secs);
    Terms { now, lifetimes }
}

fn group(name: &str) -> GroupId {
    GroupId::new(name.parse().unwrap(), 1)
}

fn key(bits: u128) -> RowKey {
    RowKey::Session(SessionId::from_random(bits))
}

fn pin(bits: u128, name: &str, secs: u64) -> SessionPin {
    let Terms { now, lifetimes } = terms(secs);
    let session = SessionId::from_random(bits);
    SessionPin::new(session, group(name), Revision(1), now, lifetimes)
}

fn claim(store: &MemoryStore, key: RowKey, pin: SessionPin, secs: u64) -> SessionPin {
    let terms = terms(secs);
    got(store.claim(Claim {
        key,
        pin,
        terms,
        evicts: true,
    }))
}

fn live(store: &MemoryStore, name: &str, secs: u64) -> u64 {
    match store.live(terms(secs).now) {
        LiveCounts::Known(live) => live.of(&group(name)),
        LiveCounts::Unknown => panic!("unknown"),
    }
}

/// Runs these at once and waits for them.
fn at_once<T: Send + 'static>(all: Vec<Box<dyn FnOnce() -> T + Send>>) -> Vec<T> {
    let threads: Vec<_> = all.into_iter().map(thread::spawn).collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

fn claims_of_one_key_agree() {
    let store = Arc::new(MemoryStore::new(10));
    let claimed = at_once(
        ["A", "B", "C"]
            .into_iter()
            .zip(1..)
            .map(|(name, bits)| {
                let store = Arc::clone(&store);
                let of = move || claim(&store, key(9), pin(bits, name, 0), 0);
                Box::new(of) as Box<dyn FnOnce() -> SessionPin + Send>
            })
            .collect(),
    );
    assert!(claimed.iter().all(|pin| *pin == claimed[0]), "{claimed:?}");
    let all: u64 = ["A", "B", "C"]
        .iter()
        .map(|name| live(&store, name, 0))
        .sum();
    assert_eq!(all, 1);
}

fn moves_are_counted_once() {
    let store = Arc::new(MemoryStore::new(10));
    let began = claim(&store, key(1), pin(1, "A", 0), 0);
    let endpoint = EndpointId::new("10.0.0.1:80");
    let tasks: Vec<Box<dyn FnOnce() + Send>> = vec![
        Box::new({
            let (store, began) = (Arc::clone(&store), began.clone());
            move || {
                let Terms { now, lifetimes } = terms(1);
                let cause = MoveCause::Aborted;
                let moved = began.moved(group("B"), cause, Revision(2), now, lifetimes);
                got(store.replace(key(1), moved, terms(1)));
            }
        }),
        Box::new({
            let (store, began, endpoint) = (Arc::clone(&store), began, endpoint.clone());
            move || {
                let placed = began.at_endpoint(Some(endpoint));
                got(store.replace(key(1), placed, terms(1)));
            }
        }),
        Box::new({
            let store = Arc::clone(&store);
            move || {
                // no count is ever below zero, which would show as a number out of this world
                let counted = ["A", "B"].map(|name| live(&store, name, 1));
                assert!(counted.iter().all(|live| *live <= 2), "{counted:?}");
            }
        }),
    ];
    at_once(tasks);
    assert_eq!((live(&store, "A", 1), live(&store, "B", 1)), (0, 1));
    let LiveCounts::Known(counts) = store.live(terms(1).now) else {
        panic!("unknown")
    };
    assert_eq!(counts.at(&group("A"), &endpoint), 0);
}

fn the_last_row_takes_the_name_with_it() {
    // two shards refer to the same group, one lets go of it while the other begins to
    let store = Arc::new(MemoryStore::new(40_000));
    claim(&store, key(1), pin(1, "A", 0), 0);
    let tasks: Vec<Box<dyn FnOnce() + Send>> = vec![
        Box::new({
            let store = Arc::clone(&store);
            move || got(store.remove(key(1), SessionId::from_random(1)))
        }),
        Box::new({
            let store = Arc::clone(&store);
            move || drop(claim(&store, key(2), pin(2, "A", 0), 0))
        }),
    ];
    at_once(tasks);
    assert_eq!(
        live(&store, "A", 0),
        1,
        "the count of a name that was entered again is lost"
    );
    got(store.remove(key(2), SessionId::from_random(2)));
    assert_eq!(live(&store, "A", 0), 0);
}

fn a_late_row_is_swept_all_the_same() {
    // a thread whose clock is a second behind files a row that ends in the second being swept
    let store = Arc::new(MemoryStore::new(40_000));
    claim(&store, key(2), pin(2, "A", 1), 1);
    let tasks: Vec<Box<dyn FnOnce() + Send>> = vec![
        Box::new({
            let store = Arc::clone(&store);
            move || drop(got(store.replace(key(1), pin(1, "A", 0), terms(9))))
        }),
        Box::new({
            let store = Arc::clone(&store);
            move || assert!(live(&store, "A", 10) <= 2)
        }),
        Box::new({
            let store = Arc::clone(&store);
            move || got(store.upkeep(terms(10).now))
        }),
    ];
    at_once(tasks);
    assert_eq!(live(&store, "A", 10), 1, "a row that has ended is counted");
    assert_eq!(live(&store, "A", 11), 0);
    assert_eq!(store.rows(), 0);
}

fn a_full_store_stays_within_its_capacity() {
    let store = Arc::new(MemoryStore::new(2));
    let tasks = (1..=3).map(|bits| {
        let store = Arc::clone(&store);
        let task = move || {
            claim(&store, key(bits), pin(bits, "A", 0), 0);
            assert!(store.rows() <= 2);
            claim(&store, key(bits + 10), pin(bits + 10, "B", 1), 1);
        };
        Box::new(task) as Box<dyn FnOnce() + Send>
    });
    at_once(tasks.collect());
    assert_eq!(store.rows(), 2);
    assert_eq!(live(&store, "A", 1) + live(&store, "B", 1), 2);
    assert_eq!(live(&store, "A", 50) + live(&store, "B", 50), 0);
}
