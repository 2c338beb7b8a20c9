//! A session that moves leaves its value behind.

use super::{IDLE, affinity, clock, room};

#[test]
fn a_session_that_moved_here_finds_nothing_of_a_former_stay() {
    let sessions = room(&clock());
    sessions.of(&affinity(0)).unwrap().insert("before");
    let back = sessions.of(&affinity(2)).unwrap();
    assert_eq!(back.get(), None);
    back.insert("after");
    assert_eq!(back.get().as_deref(), Some(&"after"));
}

#[test]
fn a_request_that_was_sent_before_the_move_changes_nothing_after_it() {
    let sessions = room(&clock());
    let late = sessions.of(&affinity(0)).unwrap();
    late.insert("before");
    sessions.of(&affinity(1)).unwrap().insert("after");
    assert_eq!(
        late.get().as_deref(),
        Some(&"before"),
        "it goes on with its own"
    );
    late.insert("late");
    late.remove();
    let now = sessions.of(&affinity(1)).unwrap().get();
    assert_eq!(now.as_deref(), Some(&"after"));
}

#[test]
fn what_a_session_left_behind_ends_by_itself() {
    let clock = clock();
    let sessions = room(&clock);
    sessions.of(&affinity(0)).unwrap().insert("before");
    clock.advance(IDLE / 2);
    sessions.of(&affinity(1)).unwrap().insert("after");
    clock.advance(IDLE / 2);
    sessions.sweep();
    assert_eq!(sessions.len(), 1);
    assert!(sessions.of(&affinity(1)).unwrap().get().is_some());
}
