//! Keys, pins and times in one line, and what the facts ask of a store.

#![allow(clippy::expect_used)] // all of it is test code

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tower_affinity_core::{
    Claim, DrawKey, EndpointId, GroupId, Lifetimes, LiveCounts, MoveCause, Outcomes, PinStore,
    Revision, RowCodec, RowKey, ServiceName, SessionId, SessionPin, Terms, Timestamp,
};

use crate::{START, id};

/// The service whose rows the facts write.
pub const SERVICE: &str = "conform";

/// The idle lifetime in seconds, by default.
pub(super) const IDLE: u64 = 30 * 60;

/// After so many seconds a row is touched.
pub(super) const QUARTER: u64 = IDLE / 4;

/// The age of a session in seconds, by default.
pub(super) const AGE: u64 = 4 * 60 * 60;

/// Two replicas' ways to one store.
pub(super) struct Links {
    pub(super) one: Arc<dyn PinStore>,
    pub(super) other: Arc<dyn PinStore>,
}

impl Links {
    /// Whose turn it is.
    pub(super) fn nth(&self, nth: u64) -> &dyn PinStore {
        if nth.is_multiple_of(2) {
            &*self.one
        } else {
            &*self.other
        }
    }

    /// Asks for all at once, half of them over each link, and gives the answers in that order.
    pub(super) async fn race<T: Send + 'static>(
        &self,
        ask: impl IntoIterator<Item = impl FnOnce(&dyn PinStore) -> tower_affinity_core::StoreCall<T>>,
    ) -> Vec<T> {
        let mut racers = JoinSet::new();
        for (nth, ask) in (0_u64..).zip(ask) {
            let link = if nth.is_multiple_of(2) {
                &self.one
            } else {
                &self.other
            };
            let call = ask(&**link);
            racers.spawn(async move { (nth, call.await) });
        }
        let mut answers = racers.join_all().await;
        answers.sort_by_key(|(nth, _)| *nth);
        let answers = answers.into_iter().map(|(_, answer)| answer);
        answers.map(|answer| answer.expect(ANSWERS)).collect()
    }
}

pub(super) const ANSWERS: &str = "a store without faults answers";

pub(super) fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(START + secs)
}

pub(super) fn terms(secs: u64) -> Terms {
    Terms {
        now: at(secs),
        lifetimes: Lifetimes::default(),
    }
}

/// Random-looking bits, so that neighbours lie in different parts of a store.
pub(super) fn session(nth: u64) -> SessionId {
    let word = |n: u64| u128::from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n >> 7));
    SessionId::from_random(word(nth + 1) << 64 | word(nth ^ 0x5555))
}

pub(super) fn by_session(nth: u64) -> RowKey {
    RowKey::Session(session(nth))
}

pub(super) fn by_name(nth: u64) -> RowKey {
    RowKey::Named(DrawKey::from(session(nth)))
}

/// The pin of a session that begins at that second, under revision 10.
pub(super) fn pin(nth: u64, group: &str, secs: u64) -> SessionPin {
    let lifetimes = Lifetimes::default();
    SessionPin::new(session(nth), id(group), Revision(10), at(secs), lifetimes)
}

/// The pin after its move at that second.
pub(super) fn moved(pin: &SessionPin, group: &str, revision: u64, secs: u64) -> SessionPin {
    let (revision, lifetimes) = (Revision(revision), Lifetimes::default());
    pin.moved(id(group), MoveCause::Aborted, revision, at(secs), lifetimes)
}

/// A pin with everything that a pin can hold.
pub(super) fn full(nth: u64) -> SessionPin {
    let endpoint = EndpointId::new("http://10.0.0.1:8080");
    let pin = moved(&pin(nth, "a", 0), "b", 12, 0);
    let pin = pin.at_endpoint(Some(endpoint)).released();
    let pin = pin.turned_out(Outcomes::FAILED.and(Outcomes::SLOW));
    let key = RowKey::Session(pin.session);
    let row = codec().encode(key, &pin);
    let later = row.replacen("\"rl\":true", "\"rl\":true,\"more\":{\"later\":[1]}", 1);
    let pin = codec().decode(key, later.as_bytes(), terms(0));
    let pin = pin.expect("it is a row");
    assert!(!pin.unknown.is_empty(), "it has a claim of a later release");
    pin
}

pub(super) fn codec() -> RowCodec {
    let service: ServiceName = SERVICE.parse().expect("a service's name");
    RowCodec::new(service)
}

pub(super) fn group(name: &str) -> GroupId {
    id(name)
}

pub(super) fn claim(key: RowKey, pin: &SessionPin, secs: u64) -> Claim {
    Claim {
        key,
        pin: pin.clone(),
        terms: terms(secs),
        evicts: true,
    }
}

pub(super) async fn load(store: &dyn PinStore, key: RowKey, secs: u64) -> Option<SessionPin> {
    store.load(key, terms(secs)).await.expect(ANSWERS)
}

/// Claims at that second, and gives the row that stands.
pub(super) async fn claimed(
    store: &dyn PinStore,
    key: RowKey,
    pin: &SessionPin,
    secs: u64,
) -> SessionPin {
    let standing = store.claim(claim(key, pin, secs)).await;
    standing.expect(ANSWERS)
}

/// Replaces at that second, and gives the row that stands.
pub(super) async fn replaced(
    store: &dyn PinStore,
    key: RowKey,
    pin: &SessionPin,
    secs: u64,
) -> SessionPin {
    let standing = store.replace(key, pin.clone(), terms(secs)).await;
    standing.expect(ANSWERS)
}

/// The counts of that second, after the second's upkeep.
pub(super) async fn live(store: &dyn PinStore, secs: u64) -> Arc<dyn tower_affinity_core::Live> {
    store.upkeep(at(secs)).await.expect(ANSWERS);
    match store.live(at(secs)) {
        LiveCounts::Known(live) => Some(live),
        LiveCounts::Unknown => None,
    }
    .expect("the counts are known right after the upkeep")
}

/// The same span for all pins of a fact.
pub(super) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
