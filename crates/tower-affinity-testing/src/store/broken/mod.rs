//! Stores that are wrong in one way each: the facts find all of them.

mod store;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use self::store::Broken;
use super::{conform, conform_bounded, conform_rows};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    EndsOnlyWhenSwept,
    EndedRowStandsInTheWay,
    IgnoresTheAge,
    LastClaimWins,
    ClaimIsNotAtomic,
    ClaimMovesSessions,
    TouchesEveryTime,
    NeverTouches,
    AnswersTheTouchOnly,
    TouchForgets,
    LoadTouches,
    ReplacementIsNotAtomic,
    ReplacesAlways,
    LoserHearsOfItself,
    SecondMoveStands,
    EqualPinIsLost,
    LowersExpiries,
    RemovesAnybody,
    RemovesNothing,
    KindsCollide,
    OnePlaceForAll,
    CountsTheEnded,
    CountsNothing,
    DoesNotTellWhatIsAbsent,
    EvictsForAnybody,
    NeverEvicts,
    EvictsForNames,
    EvictsTheNewest,
    GrowsOn,
}

const BUGS: [Bug; 29] = [
    Bug::EndsOnlyWhenSwept,
    Bug::EndedRowStandsInTheWay,
    Bug::IgnoresTheAge,
    Bug::LastClaimWins,
    Bug::ClaimIsNotAtomic,
    Bug::ClaimMovesSessions,
    Bug::TouchesEveryTime,
    Bug::NeverTouches,
    Bug::AnswersTheTouchOnly,
    Bug::TouchForgets,
    Bug::LoadTouches,
    Bug::ReplacementIsNotAtomic,
    Bug::ReplacesAlways,
    Bug::LoserHearsOfItself,
    Bug::SecondMoveStands,
    Bug::EqualPinIsLost,
    Bug::LowersExpiries,
    Bug::RemovesAnybody,
    Bug::RemovesNothing,
    Bug::KindsCollide,
    Bug::OnePlaceForAll,
    Bug::CountsTheEnded,
    Bug::CountsNothing,
    Bug::DoesNotTellWhatIsAbsent,
    Bug::EvictsForAnybody,
    Bug::NeverEvicts,
    Bug::EvictsForNames,
    Bug::EvictsTheNewest,
    Bug::GrowsOn,
];

/// Whether a store with that bug passes for one that fulfils the contract.
fn passes(bug: Bug) -> bool {
    let places: Mutex<BTreeMap<String, Broken>> = Mutex::default();
    let at = |place: &str| {
        let place = match bug {
            // only where the facts ask for two places
            Bug::OnePlaceForAll => place.trim_end_matches("-b"),
            _ => place,
        };
        let mut places = places.lock().unwrap();
        let store = places.entry(place.to_owned());
        store
            .or_insert_with(|| Broken::new(bug, usize::MAX / 2))
            .clone()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.unwrap();
    let played = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            conform(|place| Arc::new(at(place))).await;
            conform_rows(
                |place| Arc::new(at(place)),
                async |place, planted| at(place).plant(planted.key, planted.row),
            )
            .await;
            conform_bounded(|capacity| Arc::new(Broken::new(bug, capacity))).await;
        });
    }));
    played.is_ok()
}

#[test]
fn every_planted_bug_is_found() {
    assert!(passes(Bug::None));
    for bug in BUGS {
        assert!(!passes(bug), "{bug:?} was not found");
    }
}
