//! Requests of one session that come together.

use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::time::Duration;

use super::{IDLE, built, clock, place, room};
use crate::sessions::{Local, LocalSessions};

const THREADS: u64 = 4;

/// Runs `act` on several threads at once.
fn together<R: Send>(act: impl Fn(u64) -> R + Sync) -> Vec<R> {
    let start = Barrier::new(THREADS as usize);
    let run = &|nth| {
        start.wait();
        act(nth)
    };
    std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|nth| scope.spawn(move || run(nth)));
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.collect()
    })
}

#[test]
fn no_update_is_lost() {
    let sessions = room(&clock());
    place(&sessions, 1).insert(0);
    together(|_| {
        for _ in 0..1_000 {
            let add = |n: &mut u64| {
                let before = *n;
                // others come in the middle of it
                std::thread::yield_now();
                *n = before + 1;
            };
            place(&sessions, 1).update(add).unwrap();
        }
    });
    let value = place(&sessions, 1).get();
    assert_eq!(value.as_deref().copied(), Some(THREADS * 1_000));
}

#[test]
fn first_requests_that_come_together_get_one_value() {
    for _ in 0..200 {
        let sessions = room(&clock());
        let values = together(|nth| *place(&sessions, 1).get_or_insert_with(|| nth));
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
        assert_eq!(sessions.len(), 1);
    }
}

#[test]
fn sessions_that_come_together_never_stay_beyond_the_capacity() {
    let sessions = built(&clock()).capacity(64).build().unwrap();
    together(|thread| {
        for nth in 0..2_000 {
            place(&sessions, thread * 10_000 + nth).insert(nth);
        }
    });
    assert_eq!(sessions.len(), 64);
    // and the count is right: that many are really there
    let threads = 0..THREADS;
    let all = threads.flat_map(|thread| (0..2_000).map(move |nth| thread * 10_000 + nth));
    assert_eq!(
        all.filter(|nth| place(&sessions, *nth).get().is_some())
            .count(),
        64
    );
}

#[test]
fn an_update_that_panics_changes_nothing_and_blocks_nobody() {
    let sessions = room(&clock());
    let local = place(&sessions, 1);
    local.insert(1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        local.update(|n| {
            *n = 99;
            panic!("in the middle of a change");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(local.update(|n| *n + 1), Some(2));
}

/// Its drop looks at the room that it was dropped from.
struct Looks(Arc<OnceLock<Local<Self>>>, Arc<Mutex<Vec<bool>>>);

impl Drop for Looks {
    fn drop(&mut self) {
        if let Some(local) = self.0.get() {
            let is_there = local.get().is_some();
            self.1.lock().unwrap().push(is_there);
        }
    }
}

#[test]
fn a_value_can_use_the_room_while_it_is_dropped() {
    // on a thread of its own, as a lock that is taken twice never comes back
    let (done, seen) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(dropped_everywhere()));
    let seen = seen.recv_timeout(Duration::from_secs(20));
    let seen = seen.expect("a value was dropped under a lock");
    assert_eq!(seen, [true, false, false, false, false, false]);
}

/// Drops values in every way that there is, and tells what each found in the first one's place.
fn dropped_everywhere() -> Vec<bool> {
    let clock = clock();
    let sessions: LocalSessions<Looks> = built(&clock).capacity(2).build().unwrap();
    let (own, seen) = (Arc::new(OnceLock::new()), Arc::new(Mutex::new(Vec::new())));
    let local = place(&sessions, 1);
    let looks = || Looks(Arc::clone(&own), Arc::clone(&seen));
    assert!(own.set(local.clone()).is_ok());
    local.insert(looks());
    local.insert(looks()); // replaced
    drop(local.remove()); // removed
    local.insert(looks());
    place(&sessions, 2).insert(looks());
    place(&sessions, 3).insert(looks()); // crowded out
    clock.advance(IDLE);
    assert!(place(&sessions, 2).get().is_none()); // ended, as it is asked for
    sessions.sweep(); // ended, with nobody asking
    local.insert(looks());
    clock.advance(IDLE);
    assert!(local.get().is_none()); // ended, and looks into its own place
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn a_place_can_be_held_while_a_handler_waits_elsewhere() {
    fn sent<T: Send + Sync + 'static>(_: &T) {}
    let sessions = room::<String>(&clock());
    let local = place(&sessions, 1);
    sent(&sessions);
    sent(&local);
    sent(&async move {
        let value = local.get();
        std::future::ready(()).await;
        drop(value);
    });
}
