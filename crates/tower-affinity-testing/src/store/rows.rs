//! [`conform_rows`]: rows that are none of ours.

#![allow(clippy::expect_used)] // all of it is test code

use std::sync::Arc;

use tower_affinity_core::{
    MAX_ROW, PinStore, Revision, RowCodec, RowFault, RowKey, SessionPin, Timestamp,
};

use super::parts::{
    AGE, IDLE, SERVICE, at, by_name, by_session, claimed, codec, load, pin, replaced,
};

/// A row to write where a store looks for one.
#[derive(Clone, Debug)]
pub struct Planted {
    /// Where.
    pub key: RowKey,
    /// What: the JSON of a row, or what is left of it.
    pub row: Vec<u8>,
    /// The pin that it was made from, for stores that write something beside it.
    pub pin: SessionPin,
}

/// Holds a store whose rows are outside of the process against what else can be found there.
///
/// `make` is that of [`conform`](super::conform); `plant` writes a row into a place, past the store.
///
/// # Panics
///
/// If a fact does not hold.
pub async fn conform_rows<F: Future<Output = ()>>(
    make: impl Fn(&str) -> Arc<dyn PinStore>,
    plant: impl Fn(&'static str, Planted) -> F,
) {
    const PLACE: &str = "planted";
    let store = make(PLACE);
    let store = &*store;
    // what is planted is found at all
    let (key, good) = (by_name(0), pin(0, "a", 0));
    let row = codec().encode(key, &good).into_bytes();
    let pin = good.clone();
    plant(PLACE, Planted { key, row, pin }).await;
    assert_eq!(load(store, key, 1).await, Some(good));

    for (nth, (fault, key, row, pin)) in (1..).zip(bad_rows()) {
        let planted = Planted {
            key,
            row: row.clone(),
            pin,
        };
        let what = format!("row {nth}, {fault:?}");
        plant(PLACE, planted.clone()).await;
        let before = store.absent(fault);
        assert_eq!(load(store, key, NOW).await, None, "{what} was used");
        assert!(store.absent(fault) > before, "{what} was not counted");
        let ours = ours(key);
        assert_eq!(claimed(store, key, &ours, NOW).await, ours, "{what}: claim");
        assert_eq!(load(store, key, NOW).await.as_ref(), Some(&ours), "{what}");
        plant(PLACE, planted).await;
        let stands = replaced(store, key, &ours, NOW).await;
        assert_eq!(stands, ours, "{what}: replacement");
        assert_eq!(load(store, key, NOW).await, Some(ours), "{what}");
    }
}

const NOW: u64 = IDLE;

/// The pin that is stored in place of a bad row.
fn ours(key: RowKey) -> SessionPin {
    let RowKey::Session(session) = key else {
        return pin(7_000, "b", NOW);
    };
    SessionPin {
        session,
        ..pin(7_000, "b", NOW)
    }
}

type Bad = (RowFault, RowKey, Vec<u8>, SessionPin);

fn bad_rows() -> Vec<Bad> {
    let (by_name, by_session) = (by_name(1), by_session(1));
    let good = pin(1, "a", NOW - 60);
    let row = |key: RowKey| codec().encode(key, &good);
    let text = |fault, row: &str| (fault, by_name, row.as_bytes().to_vec(), good.clone());
    let whole = row(by_name);
    let half = whole.split_at(whole.len() / 2).0;
    let long = format!("{whole}{}", " ".repeat(MAX_ROW));
    let foreign = RowCodec::new("billing".parse().expect("a service's name"));
    let changed = |from: &str, to: &str| {
        let row = whole.replacen(from, to, 1);
        assert_ne!(row, whole, "a row has no {from}");
        row
    };
    let other = pin(2, "a", NOW - 60);
    let ended = pin(1, "a", 0);
    let future = pin(1, "a", NOW + 301);
    let with = |fault, key: RowKey, pin: &SessionPin| {
        let row = codec().encode(key, pin).into_bytes();
        (fault, key, row, pin.clone())
    };
    let expiry = good.expires.as_secs();
    vec![
        text(RowFault::Malformed, ""),
        text(RowFault::Malformed, "[]"),
        text(RowFault::Malformed, "\u{0}\r\n$-1"),
        text(RowFault::Malformed, half),
        text(
            RowFault::Malformed,
            &changed(&format!("\"exp\":{expiry}"), "\"exp\":-1"),
        ),
        text(RowFault::Oversize, &long),
        text(RowFault::Version, &changed("\"v\":1", "\"v\":2")),
        text(RowFault::Service, &foreign.encode(by_name, &good)),
        text(RowFault::Service, &changed(SERVICE, "other")),
        text(RowFault::Key, &row(by_session)),
        with(RowFault::Key, by_session, &other),
        with(RowFault::Ended, by_name, &ended),
        with(RowFault::Ended, by_session, &ended),
        with(RowFault::FromFuture, by_session, &future),
        with(
            RowFault::FromFuture,
            by_name,
            &SessionPin {
                revision: Revision(u64::MAX),
                ..pin(1, "a", NOW)
            },
        ),
        // refreshed for ever by somebody
        with(
            RowFault::Ended,
            by_name,
            &SessionPin {
                started: Timestamp::from_secs(at(NOW).as_secs() - AGE),
                expires: at(u64::from(u32::MAX)),
                ..pin(1, "a", NOW)
            },
        ),
    ]
}
