//! What is wrong with a replica: clocks, keys and configurations that its peers do not share.

use std::time::Duration;

use super::record;
use crate::fixtures::{at, key};
use crate::{Announced, Fleet, Keyring, Problem, ProblemKind, ReplicaRecord};

const LAPSE: Duration = Duration::from_secs(30);

/// A record with these keys (id, seed), the first of which signs.
fn with_keys(now: i64, keys: &[(&str, u8)]) -> ReplicaRecord {
    let keyring = Keyring::new(keys.iter().map(|(id, seed)| key(id, *seed))).unwrap();
    ReplicaRecord {
        signing: keys[0].0.parse().unwrap(),
        keys: keyring.digests(),
        ..record(at(now))
    }
}

fn problems(own: ReplicaRecord, others: &[ReplicaRecord], joins: bool) -> Vec<Problem> {
    let announced = |(n, record): (usize, &ReplicaRecord)| Announced {
        replica: format!("r{}", n + 2),
        record: record.to_document().to_string(),
        alive: true,
    };
    let others: Vec<_> = others.iter().enumerate().map(announced).collect();
    Fleet::new("r1", own, &others).problems(LAPSE, joins)
}

/// Whether the clock that is `own` seconds ahead is a problem, and keeps from being ready.
fn clock(own: i64, others: &[i64], joins: bool) -> Option<bool> {
    let others: Vec<_> = others.iter().map(|secs| record(at(*secs))).collect();
    let found = problems(record(at(own)), &others, joins);
    let clock = |problem: &&Problem| matches!(problem.kind, ProblemKind::Clock { .. });
    found.iter().find(clock).map(|problem| problem.unready)
}

#[test]
fn a_clock_five_minutes_from_the_median_of_the_others_is_not_ready() {
    let rows: [(i64, &[i64], Option<bool>); 11] = [
        (10_000, &[], None),
        // a record may be as old as a lease
        (330, &[0, 0], None),
        (331, &[0, 0], Some(true)),
        (-300, &[0, 0], None),
        (-301, &[0, 0], Some(true)),
        (0, &[0, 3_600, 0], None),
        (3_600, &[0, 3_600, 0], Some(true)),
        // one of the other two is wrong, and it is not this one
        (0, &[0, 3_600], None),
        (0, &[0, -3_600], None),
        // nobody can tell which one
        (3_600, &[0], Some(false)),
        (0, &[3_600], Some(false)),
    ];
    for (own, others, expected) in rows {
        assert_eq!(
            clock(own, others, false),
            expected,
            "{own} among {others:?}"
        );
    }
}

#[test]
fn who_joins_with_another_clock_yields_to_the_only_other() {
    assert_eq!(clock(3_600, &[0], true), Some(true));
    assert_eq!(clock(100, &[0], true), None);
}

#[test]
fn one_that_lacks_what_the_fleet_signs_with_is_not_ready() {
    let fleet = [with_keys(0, &[("k1", 1)]), with_keys(0, &[("k1", 1)])];
    let found = problems(with_keys(0, &[("k2", 2)]), &fleet, false);
    let lacks = Problem {
        kind: ProblemKind::Lacks {
            key: "k1".parse().unwrap(),
        },
        unready: true,
    };
    assert!(found.contains(&lacks), "{found:?}");
    assert!(lacks.kind.to_string().contains("k1"));
    // those who have it are as they should be
    let others = [with_keys(0, &[("k1", 1)]), with_keys(0, &[("k2", 2)])];
    let found = problems(with_keys(0, &[("k1", 1)]), &others, false);
    assert!(found.iter().all(|problem| !problem.unready), "{found:?}");
}

#[test]
fn one_that_has_another_key_under_an_id_is_not_ready() {
    let unready = |own: u8, others: &[u8], joins| {
        let others: Vec<_> = others
            .iter()
            .map(|seed| with_keys(0, &[("k1", *seed)]))
            .collect();
        let found = problems(with_keys(0, &[("k1", own)]), &others, joins);
        let [
            Problem {
                kind: ProblemKind::Differs { key, .. },
                unready,
            },
        ] = found.as_slice()
        else {
            panic!("{found:?}");
        };
        assert_eq!(key.as_str(), "k1");
        *unready
    };
    assert!(unready(2, &[1, 1], false));
    assert!(!unready(1, &[1, 2], false), "the other one yields");
    assert!(
        !unready(1, &[2], false),
        "nobody can tell which one is right"
    );
    assert!(unready(1, &[2], true), "who joins yields");
}

#[test]
fn one_that_signs_with_a_key_that_not_all_have_yields() {
    let young = |own: &[(&str, u8)], others: &[&[(&str, u8)]]| {
        let others: Vec<_> = others.iter().map(|keys| with_keys(0, keys)).collect();
        let found = problems(with_keys(0, own), &others, false);
        found.into_iter().find_map(|problem| match problem.kind {
            ProblemKind::TooYoung { key, lacking } => {
                Some((key.to_string(), lacking, problem.unready))
            }
            _ => None,
        })
    };
    let (old, new): (&[_], &[_]) = (&[("k1", 1), ("k2", 2)], &[("k2", 2), ("k1", 1)]);
    let only_old: &[_] = &[("k1", 1)];
    let told = |unready| Some(("k2".to_owned(), vec!["r3".to_owned()], unready));
    assert_eq!(young(new, &[old, only_old]), told(true));
    // where others sign with it too, the one without it is wrong
    assert_eq!(young(new, &[new, only_old]), told(false));
    assert_eq!(young(old, &[new, only_old]), None);
    assert_eq!(young(new, &[old, old]), None);
    // with no better key to sign with, not to be ready helps nobody
    let alone: &[_] = &[("k2", 2)];
    assert_eq!(young(alone, &[alone, only_old]), told(false));
}

#[test]
fn a_rotation_in_its_order_is_no_problem() {
    let rings: [&[(&str, u8)]; 3] = [
        &[("k1", 1), ("k2", 2)],
        &[("k2", 2), ("k1", 1)],
        &[("k1", 1), ("k2", 2)],
    ];
    for own in rings {
        for joins in [false, true] {
            let others = rings.map(|keys| with_keys(0, keys));
            assert_eq!(problems(with_keys(0, own), &others, joins), []);
        }
    }
}

#[test]
fn another_configuration_is_told_and_no_more() {
    let config = |digest: &str| ReplicaRecord {
        config: Some(digest.parse().unwrap()),
        ..record(at(0))
    };
    let others = [config("00ff00ff"), config("11ff11ff"), record(at(0))];
    let found = problems(config("00ff00ff"), &others, true);
    let expected = Problem {
        kind: ProblemKind::Config {
            from: vec!["r3".to_owned()],
        },
        unready: false,
    };
    assert_eq!(found, [expected]);
}

#[test]
fn who_is_silent_or_has_left_is_not_asked() {
    let gone = ReplicaRecord {
        left: true,
        ..with_keys(9_000, &[("k9", 9)])
    };
    let announced = |record: &ReplicaRecord, alive| Announced {
        replica: "r2".to_owned(),
        record: record.to_document().to_string(),
        alive,
    };
    let silent = with_keys(9_000, &[("k9", 9)]);
    for other in [announced(&gone, true), announced(&silent, false)] {
        let fleet = Fleet::new("r1", record(at(0)), &[other]);
        assert_eq!(fleet.problems(LAPSE, true), []);
    }
}

#[test]
fn problems_are_told_in_words() {
    let key = || "k1".parse().unwrap();
    let from = || vec!["r2".to_owned(), "r3".to_owned()];
    let rows = [
        (
            ProblemKind::Clock {
                off: Duration::from_secs(420),
                ahead: true,
            },
            "the clock is 7m or more ahead of the median of the other replicas",
        ),
        (
            ProblemKind::Differs {
                key: key(),
                from: from(),
            },
            "the key k1 is another one than that of r2, r3",
        ),
        (
            ProblemKind::TooYoung {
                key: key(),
                lacking: from(),
            },
            "the key k1 signs too early: it is not in the keyring of r2, r3",
        ),
        (
            ProblemKind::Config { from: from() },
            "the configuration is not that of r2, r3",
        ),
    ];
    for (kind, words) in rows {
        assert_eq!(kind.to_string(), words);
    }
}
