//! A day of sessions that come and go: what is counted is what lives.

use std::sync::Arc;

use affinity_tests::day::{Minute, Plan, SETTLED, Unforgetting, drift, play, worst};
use tower_affinity::core::MemoryStore;

const PLAN: Plan = Plan {
    endpoints: 6,
    added: 2,
    arrivals: 8.0,
    hours: 24,
    seed: 1,
};

const CAPACITY: usize = 100_000;

/// Before endpoints were added, and once the sessions are spread again.
fn settled(minutes: &[Minute]) -> impl Iterator<Item = &[Minute]> {
    let (before, after) = minutes.split_at(minutes.len() / 3);
    [before, &after[SETTLED..]].into_iter()
}

/// F40 and I10: unexpired rows are exactly the sessions that live, with nothing that sweeps.
#[test]
fn live_counts_are_the_truth_at_every_minute_and_endpoints_stay_level() {
    let minutes = play(&PLAN, Arc::new(MemoryStore::new(CAPACITY)));
    assert_eq!(minutes.len(), 24 * 60);
    for (number, minute) in minutes.iter().enumerate() {
        assert_eq!(minute.counted, minute.truth, "minute {number}");
    }
    for minutes in settled(&minutes) {
        let worst = worst(minutes);
        assert!(
            worst <= 1.3,
            "the busiest endpoint had {worst:.2} of the mean"
        );
    }
    let last = minutes.last().unwrap();
    assert!(
        last.truth.iter().sum::<u64>() < 100,
        "the night is not quiet"
    );
}

/// The same day with a table that forgets nothing: each row is right, and the sum is wrong.
#[test]
fn without_expiry_the_counts_drift_and_the_newest_endpoints_are_flooded() {
    let store = Unforgetting::new(MemoryStore::new(CAPACITY));
    let minutes = play(&PLAN, Arc::new(store));
    let drift = drift(&minutes);
    assert!(
        drift > 5_000,
        "off by {drift} sessions only: is there an expiry?"
    );
    // the flood begins with them, and lasts until the new ones have had as many as the old
    let after = &minutes[minutes.len() / 3 + SETTLED / 2..];
    let worst = worst(after);
    assert!(
        worst > 1.5,
        "the busiest endpoint had {worst:.2} of the mean only"
    );
}
