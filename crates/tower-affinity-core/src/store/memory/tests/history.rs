//! Histories of calls and clock steps: the store answers, holds and counts what the model does.

use std::time::Duration;

use proptest::prelude::*;

use super::model::{Evicted, Model};
use super::{counts, got, of_session, of_user};
use crate::fixtures::{START, at, endpoint, id, session};
use crate::store::memory::MemoryStore;
use crate::{Claim, LastMove, Lifetimes, MoveCause, PinStore, Revision, RowKey, SessionPin, Terms};

const GROUPS: [&str; 3] = ["A", "B", "C"];
const ENDPOINTS: [&str; 2] = ["10.0.0.1:80", "10.0.0.2:80"];

/// A pin, told by numbers relative to the time of its call.
#[derive(Clone, Debug)]
struct Told {
    session: u128,
    group: usize,
    endpoint: Option<usize>,
    age: i64,
    idle: i64,
    lasts: i64,
    revision: u64,
    moves: u32,
    from: Option<usize>,
    flags: (bool, bool),
}

#[derive(Clone, Debug)]
enum Verb {
    Load,
    Claim(Told, bool),
    Replace(Told),
    /// The standing pin, issued anew: in place, elsewhere, or to its greatest length.
    Touch(Option<usize>, bool),
    Remove(u128),
    Live,
    Upkeep,
}

#[derive(Clone, Debug)]
struct Step {
    verb: Verb,
    key: (bool, u128),
    wait: i64,
    lifetimes: usize,
}

fn any_pin() -> impl Strategy<Value = Told> {
    let place = (
        0..4_u128,
        0..GROUPS.len(),
        proptest::option::of(0..ENDPOINTS.len()),
    );
    let times = (-400..200_i64, -400..100_i64, -5..200_i64);
    let order = (8..12_u64, 0..3_u32, proptest::option::of(0..GROUPS.len()));
    (place, times, order, any::<(bool, bool)>()).prop_map(|(place, times, order, flags)| Told {
        session: place.0,
        group: place.1,
        endpoint: place.2,
        age: times.0,
        idle: times.1,
        lasts: times.2,
        revision: order.0,
        moves: order.1,
        from: order.2,
        flags,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let verb = prop_oneof![
        2 => Just(Verb::Load),
        6 => (any_pin(), any::<bool>()).prop_map(|(pin, evicts)| Verb::Claim(pin, evicts)),
        4 => any_pin().prop_map(Verb::Replace),
        4 => (proptest::option::of(0..GROUPS.len()), any::<bool>())
            .prop_map(|(to, streams)| Verb::Touch(to, streams)),
        1 => (0..4_u128).prop_map(Verb::Remove),
        2 => Just(Verb::Live),
        1 => Just(Verb::Upkeep),
    ];
    let wait = prop_oneof![
        6 => 0..3_i64,
        3 => 0..90_i64,
        1 => -90..0_i64,
        1 => -20_000..20_000_i64,
    ];
    (verb, (any::<bool>(), 0..4_u128), wait, 0..2_usize).prop_map(|(verb, key, wait, lifetimes)| {
        Step {
            verb,
            key,
            wait,
            lifetimes,
        }
    })
}

fn pin(told: &Told, secs: i64) -> SessionPin {
    let mut pin = super::pin(told.session, GROUPS[told.group], secs - told.age);
    pin.issued = at(secs - told.idle);
    pin.expires = at(secs + told.lasts);
    (pin.revision, pin.moves) = (Revision(told.revision), told.moves);
    (pin.placed, pin.released) = told.flags;
    pin.last_move = told.from.map(|from| LastMove {
        from: crate::GroupRef::Known(id(GROUPS[from], 1)),
        at: at(secs - told.age),
        cause: MoveCause::ALL[from].into(),
    });
    pin.at_endpoint(told.endpoint.map(|nth| endpoint(ENDPOINTS[nth])))
}

/// The model takes the row for gone that the store let go of, which has to be one of those.
fn settle(store: &MemoryStore, model: &mut Model, evicted: Evicted) {
    if evicted.is_empty() {
        return;
    }
    let long = Lifetimes::new(Duration::from_secs(1), Duration::from_secs(1 << 40)).unwrap();
    let gone: Vec<RowKey> = evicted
        .into_iter()
        .filter(|key| {
            let row = &model.rows[key];
            let before = Terms {
                now: crate::Timestamp::from_secs(row.ends.as_secs() - 1),
                lifetimes: long,
            };
            got(store.load(*key, before)).is_none()
        })
        .collect();
    assert_eq!(
        gone.len(),
        1,
        "one row that ends next goes, and no other: {gone:?}"
    );
    model.rows.remove(&gone[0]);
}

fn play(store: &MemoryStore, capacity: usize, steps: &[Step]) {
    let mut model = Model {
        capacity,
        ..Model::default()
    };
    let mut secs = 0;
    for step in steps {
        // histories stay far from the epoch
        secs = (secs + step.wait).max(-(START as i64) / 2);
        let key = match step.key {
            (true, bits) => of_user(bits),
            (false, bits) => of_session(bits),
        };
        let age = [Duration::from_secs(300), Duration::from_secs(10_000)][step.lifetimes];
        let lifetimes = Lifetimes::new(Duration::from_secs(100), age).unwrap();
        let terms = Terms {
            now: at(secs),
            lifetimes,
        };
        match &step.verb {
            Verb::Load => assert_eq!(got(store.load(key, terms)), model.load(key, terms)),
            Verb::Claim(told, evicts) => {
                let claim = Claim {
                    key,
                    pin: pin(told, secs),
                    terms,
                    evicts: *evicts,
                };
                let (expected, evicted) = model.claim(claim.clone());
                assert_eq!(got(store.claim(claim)), expected);
                settle(store, &mut model, evicted);
            }
            Verb::Replace(told) => {
                let pin = pin(told, secs);
                let (expected, evicted) = model.replace(key, pin.clone(), terms);
                assert_eq!(got(store.replace(key, pin, terms)), expected);
                settle(store, &mut model, evicted);
            }
            Verb::Touch(to, streams) => {
                let Some(standing) = model.load(key, terms) else {
                    continue;
                };
                let revision = Revision(standing.revision.0.max(12));
                let pin = match to {
                    Some(to) => standing.moved(
                        id(GROUPS[*to], 1),
                        MoveCause::Step,
                        revision,
                        terms.now,
                        lifetimes,
                    ),
                    None => standing.renewed(revision, terms.now, lifetimes),
                };
                let pin = if *streams {
                    pin.streaming(lifetimes)
                } else {
                    pin
                };
                let (expected, _) = model.replace(key, pin.clone(), terms);
                assert_eq!(got(store.replace(key, pin, terms)), expected);
            }
            Verb::Remove(bits) => {
                got(store.remove(key, session(*bits)));
                model.remove(key, session(*bits));
            }
            Verb::Live => {
                let live = counts(store, secs);
                model.sweep(terms.now);
                for group in GROUPS.map(|group| id(group, 1)) {
                    assert_eq!(live.of(&group), model.live(&group, None), "live on {group}");
                    for endpoint in ENDPOINTS.map(endpoint) {
                        let expected = model.live(&group, Some(&endpoint));
                        assert_eq!(live.at(&group, &endpoint), expected, "{group} {endpoint}");
                    }
                }
            }
            Verb::Upkeep => {
                got(store.upkeep(terms.now));
                model.sweep(terms.now);
            }
        }
        assert_eq!(store.rows(), model.rows.len(), "rows after {:?}", step.verb);
        assert!(store.rows() <= capacity);
    }
    got(store.upkeep(at(1 << 30)));
    assert_eq!(
        (store.rows(), store.shared.counts.names()),
        (0, 0),
        "what is left"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_full_store_does_what_the_model_does(
        capacity in 0..6_usize,
        steps in proptest::collection::vec(any_step(), 1..60),
    ) {
        play(&MemoryStore::with_shards(capacity, 1), capacity, &steps);
    }

    #[test]
    fn a_store_of_many_shards_does_what_the_model_does(
        steps in proptest::collection::vec(any_step(), 1..60),
    ) {
        play(&MemoryStore::with_shards(64, 4), 64, &steps);
    }
}
