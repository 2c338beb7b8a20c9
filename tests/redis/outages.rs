//! Servers that are down, silent, empty, read-only or that refuse a login, and the way back.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tower_affinity::core::{
    Claim, Lifetimes, PinStore, Revision, RowKey, SessionId, SessionPin, StoreError, Terms,
    Timestamp,
};
use tower_affinity::redis::{RedisOptions, RedisStore};
use tower_affinity_testing::{START, id};

use crate::support::{Cluster, RedisServer, store, with};

fn terms() -> Terms {
    Terms {
        now: Timestamp::from_secs(START),
        lifetimes: Lifetimes::default(),
    }
}

fn claim(bits: u128) -> Claim {
    let (session, terms) = (SessionId::from_random(bits), terms());
    Claim {
        key: RowKey::Session(session),
        pin: SessionPin::new(session, id("a"), Revision(10), terms.now, terms.lifetimes),
        terms,
        evicts: true,
    }
}

/// A store with the default times.
fn impatient(server: &RedisServer, options: RedisOptions) -> RedisStore {
    RedisStore::new([server.url()], "shop", "conform".parse().unwrap(), options).unwrap()
}

/// The error and its causes as one text.
fn told(error: &StoreError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text += &format!("; {next} {next:?}");
        cause = next.source();
    }
    text
}

/// Asks until the store answers, and gives how long that took.
async fn back(store: &RedisStore, bits: u128) -> Duration {
    let begin = Instant::now();
    while store.claim(claim(bits)).await.is_err() {
        let waited = begin.elapsed();
        assert!(waited < BACK, "it does not answer again after {waited:?}");
        sleep(Duration::from_millis(20)).await;
    }
    begin.elapsed()
}

/// Within that time a store that is back is used again; a busy machine included.
const BACK: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_down_is_an_error_and_found_again() {
    let Some(mut server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = impatient(&server, RedisOptions::new());
    back(&store, 1).await;
    server.stop();
    let error = store.claim(claim(1)).await.unwrap_err();
    let told = told(&error);
    assert!(
        told.contains("the store of assignments is out of reach"),
        "{told}"
    );
    sleep(Duration::from_millis(500)).await;
    server.restart().await;
    back(&store, 1).await;
    // it was empty: the pin that was claimed again is its own
    let standing = store.load(claim(1).key, terms()).await.unwrap();
    assert_eq!(standing, Some(claim(1).pin));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_yet_is_found_when_it_comes() {
    let Some(mut server) = RedisServer::start(&[]).await else {
        return;
    };
    server.stop();
    let store = impatient(&server, RedisOptions::new());
    for _ in 0..3 {
        assert!(store.claim(claim(1)).await.is_err());
    }
    server.restart().await;
    back(&store, 1).await;
}

/// Those who ask wait less long than a connection takes, and leave.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_comes_about_although_nobody_waits_for_it() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = impatient(&server, RedisOptions::new());
    let mut call = store.claim(claim(1));
    let asked = Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop()));
    assert!(asked.is_pending(), "a connection takes a while");
    drop(call);
    let begin = Instant::now();
    loop {
        let clients = server.say(&["CLIENT", "LIST"]).await;
        // ours beside the one that asks
        if clients.matches("id=").count() > 1 {
            break;
        }
        assert!(begin.elapsed() < BACK, "nobody connects: {clients}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_fails_in_time_and_is_left_for_a_new_connection() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = impatient(&server, RedisOptions::new());
    back(&store, 1).await;
    server.pause();
    let begin = Instant::now();
    let error = store.claim(claim(1)).await.unwrap_err();
    let took = begin.elapsed();
    server.resume();
    assert!(
        told(&error).contains("no answer in time"),
        "{}",
        told(&error)
    );
    // 100 ms by default; the driver's own default is 500 ms
    assert!(took < Duration::from_millis(400), "it took {took:?}");
    back(&store, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_writes_fails_until_it_does() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = store(&server, "shop");
    store.claim(claim(1)).await.unwrap();
    server.say(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let error = store.claim(claim(2)).await.unwrap_err();
    assert!(told(&error).contains("READONLY"), "{}", told(&error));
    server.say(&["REPLICAOF", "NO", "ONE"]).await;
    back(&store, 2).await;
    // no room: what stands is still told
    server.say(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let error = store.claim(claim(3)).await.unwrap_err();
    assert!(told(&error).contains("OOM"), "{}", told(&error));
    let standing = store.load(claim(1).key, terms()).await.unwrap();
    assert_eq!(standing, Some(claim(1).pin));
    server.say(&["CONFIG", "SET", "maxmemory", "0"]).await;
    back(&store, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_down_takes_its_own_rows_with_it_only() {
    let Some(mut cluster) = Cluster::start().await else {
        return;
    };
    // as long as a node is missing, the others serve their own slots
    for node in &cluster.nodes {
        let words = ["CONFIG", "SET", "cluster-require-full-coverage", "no"];
        assert_eq!(node.say(&words).await, "+OK\r\n");
    }
    let options = RedisOptions::new().cluster(true).response_timeout(BACK);
    let service = "conform".parse().unwrap();
    let store = RedisStore::new(cluster.urls(), "shop", service, options).unwrap();
    back(&store, 0).await;
    let mut of_first = Vec::new();
    for bits in 0..64 {
        store.claim(claim(bits)).await.unwrap();
        let name = format!("{{shop:{bits:02}}}:{}", claim(bits).key);
        let held = cluster.nodes[0].say(&["EXISTS", &name]).await;
        // the others answer that it has moved
        of_first.push(held == ":1\r\n");
    }
    assert!(of_first.contains(&true) && of_first.contains(&false));
    cluster.nodes[0].stop();
    for (bits, is_of_first) in (0..).zip(of_first) {
        if is_of_first {
            assert!(store.claim(claim(bits)).await.is_err(), "row {bits}");
        } else {
            back(&store, bits).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_told_without_it_and_may_become_right() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let acl = ["ACL", "SETUSER", "shop", "on", ">other", "~*", "+@all"];
    assert_eq!(server.say(&acl).await, "+OK\r\n");
    let options = RedisOptions::new().user("shop").password(SECRET);
    let store = impatient(&server, options);
    let error = store.claim(claim(1)).await.unwrap_err();
    for shown in [told(&error), format!("{store:?}")] {
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let acl = ["ACL", "SETUSER", "shop", &format!(">{SECRET}")];
    assert_eq!(server.say(&acl).await, "+OK\r\n");
    back(&store, 1).await;
}

/// The rights that the documentation names are enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_needs_no_more_rights_than_are_documented() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let mut acl = vec![
        "ACL",
        "SETUSER",
        "shop",
        "on",
        "nopass",
        "resetkeys",
        "~{shop:*",
    ];
    acl.extend("+evalsha +eval +getrange +set +del +zadd +zrem +zrange +zcount".split(' '));
    acl.extend("+sadd +srem +smembers +expire".split(' '));
    assert_eq!(server.say(&acl).await, "+OK\r\n");
    let options = RedisOptions::new().user("shop").password("any");
    let store = with(&server, "shop", options);
    let Claim {
        key, pin, terms, ..
    } = claim(1);
    store.claim(claim(1)).await.unwrap();
    store.replace(key, pin.clone(), terms).await.unwrap();
    assert_eq!(store.load(key, terms).await.unwrap(), Some(pin.clone()));
    store.upkeep(terms.now).await.unwrap();
    store.remove(key, pin.session).await.unwrap();
    assert_eq!(store.load(key, terms).await.unwrap(), None);
    store.upkeep(terms.now).await.unwrap();
}

const SECRET: &str = "hunter2-hunter2";
