//! Any calls in any order do what a simple list would.

use std::time::Duration;

use proptest::prelude::*;

use super::{IDLE, built, clock, place};
use crate::sessions::LocalSessions;

#[derive(Clone, Debug)]
enum Call {
    Ask(u64),
    Insert(u64, u8),
    InsertFirst(u64, u8),
    Update(u64),
    Remove(u64),
    Sweep,
    Wait(u64),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let nth = 0..12_u64;
    let call = prop_oneof![
        nth.clone().prop_map(Call::Ask),
        (nth.clone(), any::<u8>()).prop_map(|(nth, value)| Call::Insert(nth, value)),
        (nth.clone(), any::<u8>()).prop_map(|(nth, value)| Call::InsertFirst(nth, value)),
        nth.clone().prop_map(Call::Update),
        nth.prop_map(Call::Remove),
        Just(Call::Sweep),
        (0..700_u64).prop_map(Call::Wait),
    ];
    prop::collection::vec(call, 0..80)
}

/// The values in the order of their last use, with the time at which each ends.
#[derive(Default)]
struct Model(Vec<(u64, u8, Duration)>);

impl Model {
    fn ask(&mut self, nth: u64, now: Duration) -> Option<&mut u8> {
        let at = self.0.iter().position(|(known, ..)| *known == nth)?;
        let (_, value, _) = self.0.remove(at);
        self.0.push((nth, value, now + IDLE));
        self.0.last_mut().map(|(_, value, _)| value)
    }

    fn insert(&mut self, nth: u64, value: u8, now: Duration) {
        self.0.retain(|(known, ..)| *known != nth);
        self.0.push((nth, value, now + IDLE));
        if self.0.len() > CAPACITY {
            self.0.remove(0);
        }
    }
}

const CAPACITY: usize = 5;

proptest! {
    #[test]
    fn calls_do_what_a_list_would(calls in calls()) {
        let clock = clock();
        let sessions: LocalSessions<u8> = built(&clock).capacity(CAPACITY).build().unwrap();
        let (mut model, mut now) = (Model::default(), Duration::ZERO);
        for call in calls {
            model.0.retain(|(_, _, end)| *end > now);
            match call {
                Call::Ask(nth) => {
                    let value = place(&sessions, nth).get().map(|value| *value);
                    prop_assert_eq!(value, model.ask(nth, now).copied());
                }
                Call::Insert(nth, value) => {
                    place(&sessions, nth).insert(value);
                    model.insert(nth, value, now);
                }
                Call::InsertFirst(nth, value) => {
                    let there = *place(&sessions, nth).get_or_insert_with(|| value);
                    let expected = model.ask(nth, now).copied();
                    if expected.is_none() {
                        model.insert(nth, value, now);
                    }
                    prop_assert_eq!(there, expected.unwrap_or(value));
                }
                Call::Update(nth) => {
                    let told = place(&sessions, nth).update(|value| {
                        *value = value.wrapping_mul(3);
                        *value
                    });
                    let expected = model.ask(nth, now).map(|value| {
                        *value = value.wrapping_mul(3);
                        *value
                    });
                    prop_assert_eq!(told, expected);
                }
                Call::Remove(nth) => {
                    let value = place(&sessions, nth).remove().map(|value| *value);
                    prop_assert_eq!(value, model.ask(nth, now).copied());
                    model.0.retain(|(known, ..)| *known != nth);
                }
                Call::Sweep => {
                    sessions.sweep();
                    prop_assert_eq!(sessions.len(), model.0.len());
                }
                Call::Wait(seconds) => {
                    let span = Duration::from_secs(seconds);
                    clock.advance(span);
                    now += span;
                }
            }
            prop_assert!(sessions.len() <= CAPACITY);
        }
    }
}
