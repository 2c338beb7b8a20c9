//! What a store in Redis costs, printed; `cargo test -p affinity-redis-tests -- --ignored --nocapture`.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tower_affinity::core::{
    Claim, DrawKey, Lifetimes, PinStore, Revision, RowKey, SessionId, SessionPin, Terms, Timestamp,
};
use tower_affinity::redis::RedisStore;
use tower_affinity_testing::{START, id};

use crate::support::{RedisServer, store};

const ROWS: u64 = 20_000;
const CALLERS: u64 = 64;
const ALONE: u64 = 2_000;

fn terms() -> Terms {
    Terms {
        now: Timestamp::from_secs(START),
        lifetimes: Lifetimes::default(),
    }
}

fn key(nth: u64) -> RowKey {
    RowKey::Named(DrawKey::from(SessionId::from_random(spread(nth))))
}

fn spread(nth: u64) -> u128 {
    u128::from(nth).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

fn pin(nth: u64) -> SessionPin {
    let (session, terms) = (SessionId::from_random(spread(nth)), terms());
    let group = id(["a", "b", "c"][nth as usize % 3]);
    SessionPin::new(session, group, Revision(10), terms.now, terms.lifetimes)
}

async fn claim(store: &RedisStore, nth: u64) {
    let claim = Claim {
        key: key(nth),
        pin: pin(nth),
        terms: terms(),
        evicts: true,
    };
    store.claim(claim).await.unwrap();
}

async fn replace(store: &RedisStore, nth: u64) {
    let pin = store.replace(key(nth), pin(nth), terms()).await;
    pin.unwrap();
}

async fn load(store: &RedisStore, nth: u64) {
    assert!(store.load(key(nth), terms()).await.unwrap().is_some());
}

/// Many callers at once, each with one call after the other; calls a second.
async fn together<F: Future<Output = ()> + Send>(
    store: &Arc<RedisStore>,
    call: impl Fn(Arc<RedisStore>, u64) -> F + Copy + Send + 'static,
) -> u64 {
    let begin = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let store = Arc::clone(store);
        callers.spawn(async move {
            for nth in (caller..ROWS).step_by(CALLERS as usize) {
                call(Arc::clone(&store), nth).await;
            }
        });
    }
    callers.join_all().await;
    (ROWS as f64 / begin.elapsed().as_secs_f64()) as u64
}

/// One caller; the median and the 99th of a hundred.
async fn alone<F: Future<Output = ()>>(
    store: &Arc<RedisStore>,
    call: impl Fn(Arc<RedisStore>, u64) -> F,
) -> [Duration; 2] {
    let mut took = Vec::new();
    for nth in 0..ALONE {
        let begin = Instant::now();
        call(Arc::clone(store), nth).await;
        took.push(begin.elapsed());
    }
    took.sort();
    [took[took.len() / 2], took[took.len() * 99 / 100]]
}

macro_rules! measured {
    ($store:expr, $name:literal, $call:ident) => {{
        let call = |store: Arc<RedisStore>, nth| async move { $call(&store, nth).await };
        let rate = together($store, call).await;
        let [median, late] = alone($store, call).await;
        println!(
            "{}: {rate}/s by {CALLERS} callers; alone {median:?}, p99 {late:?}",
            $name
        );
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures"]
#[allow(clippy::print_stdout)]
async fn what_calls_cost() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = Arc::new(store(&server, "shop"));
    claim(&store, 0).await;
    let memory = async || {
        let info = server.say(&["INFO", "memory"]).await;
        let used = info
            .lines()
            .find_map(|line| line.strip_prefix("used_memory:"));
        used.unwrap().parse::<u64>().unwrap()
    };
    let before = memory().await;
    let call = |store: Arc<RedisStore>, nth| async move { claim(&store, nth).await };
    let rate = together(&store, call).await;
    println!("claim, a new row: {rate}/s by {CALLERS} callers");
    println!("memory: {} bytes a row", (memory().await - before) / ROWS);
    for round in 1..=3 {
        println!("round {round}");
        measured!(&store, "claim, a row that stands", claim);
        measured!(&store, "replace", replace);
        measured!(&store, "load", load);
        let begin = Instant::now();
        store.upkeep(terms().now).await.unwrap();
        println!("upkeep: {:?}", begin.elapsed());
    }
    let calls = server.say(&["INFO", "commandstats"]).await;
    for line in calls.lines().filter(|line| line.contains("eval")) {
        println!("{line}");
    }
}
