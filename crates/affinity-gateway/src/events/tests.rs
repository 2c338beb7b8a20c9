#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use tower_affinity::core::Timestamp;
use tower_affinity_testing::HandClock;

use super::{Events, KEPT, Kind, LONGEST_TEXT};

const START: u64 = 1_800_000_000;

fn events() -> Events {
    Events::new(Arc::new(HandClock::at(Timestamp::from_secs(START))))
}

fn texts(events: &Events, id: Option<u64>) -> Vec<String> {
    let after = events.after(id);
    after.iter().map(|event| event.text.clone()).collect()
}

#[test]
fn who_remembers_an_id_gets_what_came_after_it() {
    let events = events();
    for text in ["one", "two", "three"] {
        events.info(Kind::Config, None, text);
    }
    let all = events.after(None);
    assert_eq!(texts(&events, None), ["one", "two", "three"]);
    assert_eq!(texts(&events, Some(all[0].id)), ["two", "three"]);
    assert!(
        texts(&events, Some(all[2].id)).is_empty(),
        "nothing came after"
    );
    assert_eq!(
        texts(&events, Some(all[2].id + 1)).len(),
        3,
        "an id that is not ours yet must not hide what happens until we reach it"
    );
}

#[test]
fn ids_are_the_time_and_differ_within_a_millisecond() {
    let events = events();
    events.info(Kind::Config, None, "one");
    events.info(Kind::Config, None, "two");
    let ids: Vec<_> = events.after(None).iter().map(|event| event.id).collect();
    assert_eq!(ids, [START * 1000, START * 1000 + 1]);
}

#[test]
fn only_the_last_events_are_kept() {
    let events = events();
    for nth in 0..=KEPT {
        events.info(Kind::Config, None, &nth.to_string());
    }
    let kept = texts(&events, None);
    assert_eq!((kept.len(), kept[0].as_str()), (KEPT, "1"));
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let events = events();
    events.warn(Kind::Config, None, &"ö".repeat(LONGEST_TEXT));
    let event = &events.after(None)[0];
    assert!(
        event.text.len() <= LONGEST_TEXT && event.text.ends_with('…'),
        "{}",
        event.text.len()
    );
}

#[test]
fn a_listener_is_told() {
    let events = events();
    let told = events.told();
    assert!(!told.has_changed().unwrap());
    events.info(Kind::Ready, None, "ready");
    assert!(told.has_changed().unwrap());
}
