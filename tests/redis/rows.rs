//! What is left behind, and what else lies where a row is looked for.

use tower_affinity::core::{
    Claim, DrawKey, EndpointId, Lifetimes, LiveCounts, PinStore, Revision, RowFault, RowKey,
    SessionId, SessionPin, Terms, Timestamp,
};
use tower_affinity_testing::{START, id};

use crate::support::{RedisServer, store};

fn terms(secs: u64) -> Terms {
    Terms {
        now: Timestamp::from_secs(START + secs),
        lifetimes: Lifetimes::default(),
    }
}

fn pin(bits: u128, secs: u64) -> SessionPin {
    let (session, terms) = (SessionId::from_random(bits), terms(secs));
    SessionPin::new(session, id("a"), Revision(10), terms.now, terms.lifetimes)
}

fn key(bits: u128) -> RowKey {
    RowKey::Named(DrawKey::from(SessionId::from_random(bits)))
}

fn claim(bits: u128, secs: u64) -> Claim {
    Claim {
        key: key(bits),
        pin: pin(bits, secs),
        terms: terms(secs),
        evicts: true,
    }
}

fn name(bits: u128) -> String {
    format!("{{shop:{:02}}}:{}", bits % 64, key(bits))
}

/// The seconds until a key ends by itself.
async fn ttl(server: &RedisServer, name: &str) -> i64 {
    let ttl = server.say(&["TTL", name]).await;
    ttl.trim_start_matches(':').trim().parse().unwrap()
}

#[tokio::test]
async fn everything_that_is_written_ends_by_itself() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = store(&server, "shop");
    for bits in 0..200 {
        store.claim(claim(bits, 0)).await.unwrap();
    }
    store.upkeep(terms(0).now).await.unwrap();
    let keys = server.say(&["KEYS", "*"]).await;
    let keys: Vec<&str> = keys.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(keys.len(), 200 + 64 * 2);
    for key in keys {
        // by the span that is left and not by the server's clock: ours stands in 2027
        let ttl = ttl(&server, key).await;
        assert!((1..=1_800 + 3_600).contains(&ttl), "{key} ends in {ttl} s");
    }
}

#[tokio::test]
async fn what_has_ended_is_swept_and_was_not_counted_before() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = store(&server, "shop");
    for bits in 0..200 {
        store.claim(claim(bits, 0)).await.unwrap();
    }
    let count = async |secs| {
        store.upkeep(terms(secs).now).await.unwrap();
        let LiveCounts::Known(live) = store.live(terms(secs).now) else {
            panic!("they were counted right now");
        };
        let set = server.say(&["ZCARD", "{shop:07}:live:a#1@"]).await;
        (live.of(&id("a")), set)
    };
    assert_eq!(count(1_799).await.0, 200);
    let (live, set) = count(1_800).await;
    assert_eq!(live, 0);
    assert_ne!(
        set, ":0\r\n",
        "a replica whose clock is behind knows them still"
    );
    let (live, set) = count(1_800 + 900).await;
    assert_eq!((live, &*set), (0, ":0\r\n"));
    count(1_800 + 901).await;
    let keys = server.say(&["KEYS", "*l*"]).await;
    assert_eq!(keys, "*0\r\n", "a set or a list of sets is left");
}

#[tokio::test]
async fn counts_are_told_for_ten_seconds() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = store(&server, "shop");
    let is_known = |secs: u64| matches!(store.live(terms(secs).now), LiveCounts::Known(_));
    assert!(!is_known(0), "nothing was counted");
    store.upkeep(terms(100).now).await.unwrap();
    for (secs, known) in [
        (100, true),
        (110, true),
        (111, false),
        (90, true),
        (89, false),
    ] {
        assert_eq!(is_known(secs), known, "at {secs} s");
    }
}

#[tokio::test]
async fn a_value_that_is_no_text_is_absent_and_replaced() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = store(&server, "shop");
    let mut absent = 0;
    for bits in [1, 2] {
        server.say(&["RPUSH", &name(bits), "x"]).await;
        assert_eq!(store.load(key(bits), terms(0)).await.unwrap(), None);
        absent += 1;
        assert_eq!(store.absent(RowFault::Malformed), absent);
        let standing = match bits {
            1 => store.claim(claim(bits, 0)).await,
            _ => store.replace(key(bits), pin(bits, 0), terms(0)).await,
        };
        assert_eq!(standing.unwrap(), pin(bits, 0));
        absent += 1;
        assert_eq!(store.absent(RowFault::Malformed), absent);
        let standing = store.load(key(bits), terms(0)).await;
        assert_eq!(standing.unwrap(), Some(pin(bits, 0)));
    }
}

#[tokio::test]
async fn a_value_of_any_size_is_read_in_part_only() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = store(&server, "shop");
    let huge = "1".repeat(8 << 20);
    server.say(&["SET", &name(1), &huge]).await;
    let sent = async || {
        let stats = server.say(&["INFO", "stats"]).await;
        let bytes = stats
            .lines()
            .find_map(|line| line.strip_prefix("total_net_output_bytes:"));
        bytes.unwrap().parse::<u64>().unwrap()
    };
    let before = sent().await;
    assert_eq!(store.load(key(1), terms(0)).await.unwrap(), None);
    assert_eq!(store.absent(RowFault::Oversize), 1);
    let standing = store.claim(claim(1, 0)).await.unwrap();
    assert_eq!(standing, pin(1, 0));
    let sent = sent().await - before;
    assert!(sent < 64 << 10, "{sent} bytes were sent");
}

#[tokio::test]
async fn a_row_that_is_too_long_is_served_and_not_kept() {
    let Some(server) = RedisServer::start(&[]).await else {
        return;
    };
    let store = store(&server, "shop");
    let mut claim = claim(1, 0);
    let long = "e".repeat(5_000);
    claim.pin = claim.pin.at_endpoint(Some(EndpointId::new(&long)));
    let pin = claim.pin.clone();
    assert_eq!(store.claim(claim).await.unwrap(), pin);
    assert_eq!(store.load(key(1), terms(0)).await.unwrap(), None);
    let size = server.say(&["DBSIZE"]).await;
    assert_eq!(size, ":0\r\n");
}
