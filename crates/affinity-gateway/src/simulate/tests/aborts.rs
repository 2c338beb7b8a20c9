//! What an abort would move, and what it moves.

use super::*;

const CANARY: &str = "[[step]]\nweights = { \"9f1c2ab\" = 50, \"c3d4e5f\" = 50 }\nhold = \"20m\"\n";

#[test]
fn an_abort_would_move_exactly_the_live_sessions() {
    let report = play(STEADY, CANARY);
    let new = report.group(1, NEW);
    let moves = AbortReport::Possible {
        moves: new.pinned,
        ends: 0,
        to: Some(OLD.to_owned()),
    };
    assert!(new.pinned > 1_000, "{new:?}");
    assert_eq!(new.abort, Some(moves));
    assert_eq!(
        report.group(1, OLD).abort,
        None,
        "the stable group is no canary"
    );
}

#[test]
fn an_abort_moves_what_it_was_said_to_move() {
    let report = play(
        STEADY,
        &format!("{CANARY}[[step]]\nabort = \"c3d4e5f\"\nhold = \"1m\"\n"),
    );
    let said = report.group(1, NEW).pinned;
    let (old, new) = (report.group(2, OLD), report.group(2, NEW));
    assert_eq!((new.state, new.assigned, new.pinned), ("aborted", 0, 0));
    assert_eq!(old.moved_in, new.moved_out);
    // but for those who end within the 10 s until their next request: a sixtieth, for 10 minutes
    assert!(
        new.moved_out <= said && new.moved_out > said * 97 / 100,
        "{} of {said}",
        new.moved_out
    );
}

#[test]
fn sessions_that_stay_move_at_the_deadline() {
    let stay = settings("[rollback]\npolicy = \"stay\"\nwithin = \"2m\"\n");
    let steps =
        format!("{CANARY}[[step]]\nabort = \"c3d4e5f\"\nhold = \"1m\"\n[[step]]\nhold = \"2m\"\n");
    let report = play_with(&stay, STEADY, &steps);
    let moved = |step| report.group(step, NEW).moved_out;
    assert_eq!(moved(2), 0, "moved before the deadline");
    let left = report.group(2, NEW).pinned;
    assert!(
        moved(3) > left * 8 / 10 && moved(3) <= left,
        "{} of {left}",
        moved(3)
    );
    assert_eq!(report.group(3, NEW).pinned, 0);
    let said = report.group(1, NEW);
    assert!(
        matches!(said.abort, Some(AbortReport::Possible { moves, .. }) if moves == said.pinned)
    );
}

#[test]
fn sessions_that_an_abort_ends_are_refused() {
    let end = settings("[rollback]\npolicy = \"end\"\n");
    let steps = format!("{CANARY}[[step]]\nabort = \"c3d4e5f\"\nhold = \"1m\"\n");
    let report = play_with(&end, STEADY, &steps);
    let said = report.group(1, NEW);
    let ends = AbortReport::Possible {
        moves: 0,
        ends: said.pinned,
        to: None,
    };
    assert_eq!(said.abort, Some(ends));
    let new = report.group(2, NEW);
    assert_eq!((new.moved_out, new.pinned), (0, 0));
    assert!(
        new.refused <= said.pinned && new.refused > said.pinned * 97 / 100,
        "{new:?}"
    );
}
