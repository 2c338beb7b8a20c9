//! That the requests which are not played would have changed nothing.

use std::time::Duration;

use tower_affinity::core::Timestamp;

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
