//! What both runs showed, and whether it is what commit affinity claims.

use serde::Serialize;

use super::{
    board::Moment,
    flow::{A, B, C},
    tally::Counts,
};

/// The acts of one run, after their end.
#[derive(Debug, Default, Clone)]
pub(crate) struct Run {
    pub(crate) replace: Counts,
    pub(crate) roll_back: Counts,
}

/// Both runs of the script.
#[derive(Debug, Default, Clone)]
pub(crate) struct Report {
    pub(crate) off: Run,
    pub(crate) on: Run,
}

#[derive(Debug, Serialize)]
struct Line {
    affinity_off: Off,
    affinity_on: On,
}

#[derive(Debug, Serialize)]
struct Off {
    sessions: u64,
    broken: u64,
}

#[derive(Debug, Serialize)]
struct On {
    sessions: u64,
    broken_in_rollout: u64,
    moved: u64,
    max_moves_per_session: u64,
    restarted_after_abort: u64,
    broken_after_abort: u64,
}

impl Run {
    /// The first act of a board is the replacement, the second the roll-back.
    pub(crate) fn of(moment: Moment) -> Self {
        let mut acts = moment.acts.into_iter().map(|(_, counts)| counts);
        Self {
            replace: acts.next().unwrap_or_default(),
            roll_back: acts.next().unwrap_or_default(),
        }
    }

    fn sessions(&self) -> u64 {
        self.replace.started + self.roll_back.started
    }

    fn broken(&self) -> u64 {
        self.replace.broken + self.roll_back.broken
    }

    fn moved(&self) -> u64 {
        self.replace.moved + self.roll_back.moved
    }

    fn most_moves(&self) -> u64 {
        self.replace.most_moves.max(self.roll_back.most_moves)
    }
}

impl Report {
    /// One line of JSON.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Line {
            affinity_off: Off {
                sessions: self.off.sessions(),
                broken: self.off.broken(),
            },
            affinity_on: On {
                sessions: self.on.sessions(),
                broken_in_rollout: self.on.replace.broken,
                moved: self.on.moved(),
                max_moves_per_session: self.on.most_moves(),
                restarted_after_abort: self.on.roll_back.restarted,
                broken_after_abort: self.on.roll_back.broken,
            },
        })
    }

    /// One line for each run.
    pub(crate) fn lines(&self) -> [String; 2] {
        let (a, b, c) = (A.commit, B.commit, C.commit);
        let (off, on) = (&self.off, &self.on);
        [
            format!(
                "affinity off: {} sessions, {} broken ({} while {b} replaced {a}, {} around the \
                 abort of {c})",
                off.sessions(),
                off.broken(),
                off.replace.broken,
                off.roll_back.broken,
            ),
            format!(
                "affinity on:  {} sessions, {} broken; {} moved by the abort of {c}, at most {} \
                 move per session, {} began again cleanly",
                on.sessions(),
                on.broken(),
                on.moved(),
                on.most_moves(),
                on.roll_back.restarted,
            ),
        ]
    }

    /// Every claim that the runs did not bear out; none if all held.
    pub(crate) fn failures(&self) -> Vec<String> {
        let (off, on) = (&self.off, &self.on);
        let mut failures = Vec::new();
        let mut claim = |held: bool, failure: String| {
            if !held {
                failures.push(failure);
            }
        };
        claim(
            off.broken() > 0,
            "no session broke without affinity".to_owned(),
        );
        claim(
            on.broken() == 0,
            format!("{} sessions broke with affinity", on.broken()),
        );
        claim(
            on.replace.moved == 0,
            format!(
                "{} sessions moved though nothing was aborted",
                on.replace.moved
            ),
        );
        claim(
            on.most_moves() <= 1,
            format!("a session moved {} times", on.most_moves()),
        );
        claim(
            on.roll_back.moved > 0,
            "the abort moved no session".to_owned(),
        );
        claim(
            on.roll_back.restarted == on.roll_back.moved,
            format!(
                "{} sessions moved, but {} began again",
                on.roll_back.moved, on.roll_back.restarted
            ),
        );
        claim(
            [&off.replace, &off.roll_back, &on.replace, &on.roll_back]
                .iter()
                .all(|counts| counts.open() == 0),
            "some sessions neither finished nor broke".to_owned(),
        );
        failures
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn counts(finished: u64, broken: u64, moved: u64) -> Counts {
        Counts {
            started: finished + broken,
            finished,
            broken,
            moved,
            restarted: moved,
            most_moves: moved.min(1),
            ..Counts::default()
        }
    }

    fn report() -> Report {
        Report {
            off: Run {
                replace: counts(100, 140, 0),
                roll_back: counts(100, 40, 0),
            },
            on: Run {
                replace: counts(240, 0, 0),
                roll_back: counts(140, 0, 12),
            },
        }
    }

    #[test]
    fn the_json_line_has_the_promised_form() {
        assert_eq!(
            report().json().unwrap(),
            "{\"affinity_off\":{\"sessions\":380,\"broken\":180},\
             \"affinity_on\":{\"sessions\":380,\"broken_in_rollout\":0,\"moved\":12,\
             \"max_moves_per_session\":1,\"restarted_after_abort\":12,\"broken_after_abort\":0}}"
        );
    }

    #[test]
    fn each_run_has_one_line() {
        assert_eq!(
            report().lines(),
            [
                "affinity off: 380 sessions, 180 broken (140 while c3d4e5f replaced 9f1c2ab, \
                 40 around the abort of 7b20d94)",
                "affinity on:  380 sessions, 0 broken; 12 moved by the abort of 7b20d94, \
                 at most 1 move per session, 12 began again cleanly",
            ]
        );
    }

    #[test]
    fn a_run_as_claimed_has_no_failures() {
        assert_eq!(report().failures(), Vec::<String>::new());
    }

    #[test]
    fn each_broken_claim_is_named() {
        type Spoil = fn(&mut Report);
        let cases: [(Spoil, &str); 6] = [
            (
                |r| r.off = Run::default(),
                "no session broke without affinity",
            ),
            (
                |r| r.on.roll_back = counts(139, 1, 12),
                "1 sessions broke with affinity",
            ),
            (
                |r| r.on.replace.moved = 3,
                "3 sessions moved though nothing was aborted",
            ),
            (|r| r.on.roll_back.most_moves = 2, "a session moved 2 times"),
            (
                |r| r.on.roll_back = counts(140, 0, 0),
                "the abort moved no session",
            ),
            (
                |r| r.on.roll_back.restarted = 11,
                "12 sessions moved, but 11 began again",
            ),
        ];
        for (spoil, failure) in cases {
            let mut report = report();
            spoil(&mut report);
            assert_eq!(report.failures(), [failure]);
        }
    }
}
