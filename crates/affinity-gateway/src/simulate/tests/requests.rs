//! That the requests which are not played would have changed nothing.

use std::time::Duration;

use tower_affinity::core::{Kind, Timestamp, Weight};

use super::*;
use crate::simulate::asking::Asking;
use crate::simulate::dice::Dice;
use crate::simulate::play::EPOCH;
use crate::simulate::rules::Rules;
use crate::simulate::session::{Phase, Session};
use crate::simulate::spread::Think;
use crate::simulate::tally::Tally;

const LENGTH: Duration = Duration::from_secs(6 * 3600);

fn session(seed: u64) -> Session {
    Session::new(Dice::new(seed), EPOCH, |_| EPOCH.plus(LENGTH))
}

/// Everything that a session shows and that was counted of it.
fn seen(session: &Session, tally: &Tally) -> String {
    let pin = session.pin.as_ref().unwrap();
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        (
            pin.started,
            pin.issued,
            pin.expires,
            pin.assigned,
            pin.moves
        ),
        pin.group,
        session.place,
        tally.groups,
        tally.last_expiry
    )
}

#[test]
fn each_request_that_is_passed_over_is_decided_as_the_one_before() {
    let settings = settings("");
    let rules = Rules::new(&settings, "/", EPOCH).unwrap();
    let plan = plan(
        &settings,
        &format!(
            "{STEADY}[[step]]\nweights = {{ \"c3d4e5f\" = 10 }}\nhold = \"100m\"\n\
             [[step]]\nabort = \"c3d4e5f\"\nhold = \"100m\"\n"
        ),
    );
    for secs in [7, 61, 299, 640, 1_190, 1_210, 4_000] {
        let think = Think::Fixed { mean: secs * 1000 };
        for seed in 0..20 {
            let (mut some, mut every) = (session(seed), session(seed));
            let (mut rollout, mut from) = (rules.rollout.clone(), EPOCH);
            for step in &plan.steps {
                let change = rules.change(&rollout, from);
                rollout = step
                    .turn
                    .as_ref()
                    .unwrap()
                    .apply(&rollout, &rules, change)
                    .unwrap();
                let until = from.plus(step.hold);
                let phase = Phase {
                    rules: &rules,
                    rollout: &rollout,
                    think,
                    from,
                    until,
                };
                let mut tallies = [(); 2].map(|()| Tally::new(from, until, vec![None; 2]));
                let mut asking = Asking::new();
                assert!(some.play(&phase, &mut asking, &mut tallies[0]));
                let mut nth = from.since(EPOCH).as_secs().div_ceil(secs);
                loop {
                    let at: Timestamp = EPOCH.plus(Duration::from_secs(nth * secs));
                    if at >= until {
                        break;
                    }
                    every.lapse(at, &mut tallies[1]);
                    let decision = asking.ask(&phase, &mut every, at).unwrap();
                    assert!(every.take(decision, &rules, at, &mut tallies[1]));
                    nth += 1;
                }
                every.lapse(until, &mut tallies[1]);
                assert_eq!(
                    seen(&some, &tallies[0]),
                    seen(&every, &tallies[1]),
                    "{secs} s, {seed}"
                );
                from = until;
            }
        }
    }
}

/// The group in which a session begins, and the one in which it goes on after a pause that its pin
/// does not outlive.
fn before_and_after_a_pause(rules: &Rules, seed: u64) -> [Option<usize>; 2] {
    let both = [(OLD, 1), (NEW, 1)]
        .map(|(name, weight)| (name.parse().unwrap(), Weight::new(weight).unwrap()));
    let change = rules.change(&rules.rollout, EPOCH);
    let rollout = rules.rollout.weights(&both.into(), change).unwrap();
    let until = EPOCH.plus(LENGTH);
    let phase = Phase {
        rules,
        rollout: &rollout,
        think: Think::Fixed { mean: 1000 },
        from: EPOCH,
        until,
    };
    let (mut session, mut asking) = (session(seed), Asking::new());
    let mut tally = Tally::new(EPOCH, until, vec![None; 2]);
    [0, 3_600].map(|secs| {
        let at = EPOCH.plus(Duration::from_secs(secs));
        session.lapse(at, &mut tally);
        let decision = asking.ask(&phase, &mut session, at).unwrap();
        assert_eq!(decision.kind, Kind::Assigned);
        assert!(session.take(decision, rules, at, &mut tally));
        session.place
    })
}

#[test]
fn a_keyed_scope_draws_a_user_to_the_same_group_again() {
    let came_back = |sections: &str| {
        let rules = Rules::new(&settings(sections), "/", EPOCH).unwrap();
        let same = |seed: &u64| {
            let [before, after] = before_and_after_a_pause(&rules, *seed);
            before.is_some() && before == after
        };
        (0..1_000).filter(same).count() as u64
    };
    let keyed = "[[scope]]\npath = \"/*\"\nassign = \"header:x-user\"\n";
    assert_eq!(came_back(keyed), 1_000);
    assert_binomial(came_back(""), 1_000, 0.5);
}

#[test]
fn streams_keep_a_pin_for_all_its_time() {
    let steps = "[[step]]\npromote = \"c3d4e5f\"\nuntil = \"drained\"\n";
    let drained = |sections: &str| {
        let report = play_with(&settings(sections), STEADY, steps);
        report.group(1, OLD).drain.unwrap().takes_secs
    };
    let streaming = "[[scope]]\npath = \"/*\"\nstreaming = true\n";
    let max_age = 4.0 * 3600.0;
    assert!((max_age - 60.0..=max_age + 1.0).contains(&drained(streaming)));
    assert!(drained("") < 3600.0);
}
