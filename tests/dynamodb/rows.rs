//! What is left behind, and what else lies where a row is looked for.

use std::time::Duration;

use serde_json::{Value, json};
use tower_affinity::core::{
    Claim, DrawKey, EndpointId, Lifetimes, LiveCounts, PinStore, Revision, RowCodec, RowFault,
    RowKey, SessionId, SessionPin, Terms, Timestamp,
};
use tower_affinity::dynamodb::DynamoStore;
use tower_affinity_testing::store::SERVICE;
use tower_affinity_testing::{START, id};

use crate::support::{DynamoServer, TABLE, Tells, item, items, options, put, store};

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

#[tokio::test]
async fn every_item_says_when_it_may_be_deleted() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let store = store(&server.url(), "shop");
    store.claim(claim(1, 0)).await.unwrap();
    store.claim(claim(2, 0)).await.unwrap();
    let touched = store.claim(claim(2, 450)).await.unwrap();
    assert_eq!(touched.expires, Timestamp::from_secs(START + 450 + 1_800));
    let mut told: Vec<u64> = items(server.address())
        .await
        .iter()
        .map(|item| item["ttl"]["N"].as_str().unwrap().parse().unwrap())
        .collect();
    told.sort_unstable();
    // UpdateTimeToLive takes seconds; ten minutes for clocks that differ
    assert_eq!(
        told,
        [1_800 + 600, 450 + 1_800 + 600].map(|secs| START + secs)
    );
}

/// DynamoDB deletes late, or never where nobody has told it to.
#[tokio::test]
async fn what_has_ended_and_lies_there_still_is_neither_used_nor_counted() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let store = store(&server.url(), "shop");
    for bits in 0..50 {
        store.claim(claim(bits, 0)).await.unwrap();
    }
    let live = async |secs| {
        store.upkeep(terms(secs).now).await.unwrap();
        match store.live(terms(secs).now) {
            LiveCounts::Known(live) => live.of(&id("a")),
            LiveCounts::Unknown => panic!("they were counted right now"),
        }
    };
    assert_eq!((live(1_799).await, live(1_800).await), (50, 0));
    for bits in 0..50 {
        assert_eq!(store.load(key(bits), terms(1_800)).await.unwrap(), None);
    }
    assert_eq!(store.absent(RowFault::Ended), 50);
    assert_eq!(items(server.address()).await.len(), 50, "all lie there");
}

#[tokio::test]
async fn an_item_with_other_attributes_is_absent_and_makes_room() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let store = store(&server.url(), "shop");
    let bound = pin(1, 0).at_endpoint(Some(EndpointId::new("10.0.0.1:80")));
    let codec = RowCodec::new(SERVICE.parse().unwrap());
    let row = codec.encode(key(1), &bound);
    let mut good = item("shop", key(1), &bound, &row);
    good["ep"] = json!({ "S": "10.0.0.1:80" });
    put(server.address(), &good).await;
    let read = store.load(key(1), terms(0)).await.unwrap();
    assert_eq!(read, Some(bound.clone()), "a good one is found");
    let none = Value::Null;
    let lists: Vec<Value> = (0..2_000).map(|_| json!({ "S": "x" })).collect();
    let deep = json!({ "M": { "a": { "L": lists } } });
    for name in ["v", "pin", "ord", "sid", "grp", "ep", "sst", "exp"] {
        for wrong in [
            none.clone(),
            json!({ "NULL": true }),
            json!({ "BOOL": true }),
            json!({ "B": "AAAA" }),
            json!({ "SS": ["1", "2"] }),
            json!({ "N": "99999999999999999999999999999999999999" }),
            json!({ "N": "-1" }),
            json!({ "N": "1.5" }),
            json!({ "S": "" }),
            json!({ "S": "x".repeat(100_000) }),
            deep.clone(),
        ] {
            let what = format!(
                "{name}: {}",
                &wrong.to_string()[..20.min(wrong.to_string().len())]
            );
            let mut bad = good.clone();
            match wrong {
                Value::Null => drop(bad.as_object_mut().unwrap().remove(name)),
                wrong => bad[name] = wrong,
            }
            put(server.address(), &bad).await;
            let read = store.load(key(1), terms(0)).await.unwrap();
            assert_eq!(read, None, "{what} was used");
            let ours = pin(7, 1);
            let other = Claim {
                pin: ours.clone(),
                ..claim(1, 1)
            };
            let stands = store.claim(other).await.unwrap();
            assert_eq!(stands, ours, "{what}: claim");
            put(server.address(), &bad).await;
            let stands = store.replace(key(1), ours.clone(), terms(1)).await.unwrap();
            assert_eq!(stands, ours, "{what}: replacement");
            let read = store.load(key(1), terms(1)).await.unwrap();
            assert_eq!(read, Some(ours), "{what}");
        }
    }
}

#[tokio::test]
async fn other_prefixes_and_services_of_a_table_are_not_counted() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let shop = store(&server.url(), "shop");
    shop.claim(claim(1, 0)).await.unwrap();
    for other in ["shop:k", "shop-b", "sho", "zzz"] {
        let other = store(&server.url(), other);
        other.claim(claim(1, 0)).await.unwrap();
        other.claim(claim(2, 0)).await.unwrap();
    }
    // and what is none of ours at all
    for k in ["shop:", "shop:k:1", "x"] {
        put(server.address(), &json!({ "k": { "S": k } })).await;
    }
    shop.upkeep(terms(0).now).await.unwrap();
    let LiveCounts::Known(live) = shop.live(terms(0).now) else {
        panic!("they were counted right now");
    };
    assert_eq!(live.of(&id("a")), 1);
    // the same name for two services: neither reads the other's
    let options = options(&server.url());
    let billing = DynamoStore::new(TABLE, "shop", "billing".parse().unwrap(), options).unwrap();
    assert_eq!(billing.load(key(1), terms(0)).await.unwrap(), None);
    assert_eq!(billing.absent(RowFault::Service), 1);
}

#[tokio::test]
async fn live_sessions_are_unknown_unless_they_are_counted() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let of = |options| DynamoStore::new(TABLE, "shop", SERVICE.parse().unwrap(), options).unwrap();
    let silent = of(options(&server.url()));
    silent.claim(claim(1, 0)).await.unwrap();
    silent.upkeep(terms(0).now).await.unwrap();
    assert!(matches!(silent.live(terms(0).now), LiveCounts::Unknown));

    let five = Duration::from_secs(5);
    let counting = of(options(&server.url()).count_every(five));
    let live = |secs| match counting.live(terms(secs).now) {
        LiveCounts::Known(live) => Some(live.of(&id("a"))),
        LiveCounts::Unknown => None,
    };
    assert_eq!(live(0), None, "never counted");
    // at most that often, and told for ten seconds
    for (secs, expected) in [(0, 1), (4, 1), (5, 2)] {
        counting.upkeep(terms(secs).now).await.unwrap();
        assert_eq!(live(secs), Some(expected), "after {secs} s");
        counting.claim(claim(2, 0)).await.unwrap();
    }
    assert_eq!((live(15), live(16)), (Some(2), None));
}
