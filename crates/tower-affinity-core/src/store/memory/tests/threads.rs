//! Many threads at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{claim, counts, got, live, load, of_session, of_user, pin, terms};
use crate::fixtures::{at, id, lifetimes, session};
use crate::store::memory::MemoryStore;
use crate::{MoveCause, PinStore, Revision};

#[test]
fn parallel_claims_of_a_key_agree() {
    let store = MemoryStore::new(1_000);
    for round in 0..200 {
        let stands: Vec<_> = thread::scope(|scope| {
            let claims = (0..4_u128).map(|nth| {
                let (store, group) = (&store, ["A", "B", "C", "D"][nth as usize]);
                scope.spawn(move || claim(store, of_user(round), pin(nth, group, 0), 0))
            });
            let claims: Vec<_> = claims.collect();
            claims
                .into_iter()
                .map(|claim| claim.join().unwrap())
                .collect()
        });
        assert!(stands.iter().all(|pin| *pin == stands[0]), "{stands:?}");
        assert_eq!(load(&store, of_user(round), 0).as_ref(), Some(&stands[0]));
    }
    let groups = ["A", "B", "C", "D"];
    let all: u64 = groups.iter().map(|group| live(&store, group, 0)).sum();
    assert_eq!(all, 200);
}

#[test]
fn counts_stay_exact_under_parallel_changes() {
    let store = MemoryStore::new(500);
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0_u64;
            while !ends.load(Ordering::Relaxed) {
                let live = counts(&store, 4_000 + (reads % 3) as i64);
                let all: u64 = ["A", "B"].iter().map(|group| live.of(&id(group, 1))).sum();
                // a session that moves is counted twice for a moment, never less than not at all
                assert!(all <= 2 * 500, "{all} live");
                reads += 1;
            }
        });
        let writers: Vec<_> = (0..4_u128)
            .map(|thread| {
                let store = &store;
                scope.spawn(move || {
                    for step in 0..5_000_u128 {
                        let bits = thread * 1_000 + step * 31 % 200;
                        let secs = (step / 10) as i64 + 3_600;
                        let began = claim(store, of_session(bits), pin(bits, "A", secs), secs);
                        let moved = began.moved(
                            id("B", 1),
                            MoveCause::Step,
                            Revision(11 + step as u64),
                            at(secs),
                            lifetimes(),
                        );
                        got(store.replace(of_session(bits), moved, terms(secs)));
                        if step % 3 == 0 {
                            got(store.remove(of_session(bits), session(bits)));
                        }
                    }
                })
            })
            .collect();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        ends.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    let all = live(&store, "A", 4_100) + live(&store, "B", 4_100);
    assert_eq!(all, store.rows() as u64, "what is counted is what is held");
    assert!(store.rows() <= 500 && store.rows() > 0);
    assert_eq!(live(&store, "A", 40_000) + live(&store, "B", 40_000), 0);
    assert_eq!(store.shared.counts.names(), 0);
}
