//! `on_step = "reassign"`: a step draws each session anew once, and moves as few as it can.

use proptest::prelude::*;

use super::world::{Held, World, shown};
use crate::fixtures::history::{Step, any_weights};
use crate::fixtures::{View, after, at, lifetimes, rollout, salt, session, weights};
use crate::{
    AlwaysReady, Cause, DrawKey, Group, Inputs, Kind, Level, LiveCounts, Newer, OnStep, Outcome,
    Policy, Presented, Rollout, SessionPin, Shown, State, Status, decide, draw,
};

/// The pin of a session after its next request, and whether that request moved it.
fn next(pin: &SessionPin, rollout: &Rollout) -> (SessionPin, bool) {
    let presented = Presented {
        shown: shown(pin.clone()),
        ..Presented::default()
    };
    let policy = Policy {
        on_step: OnStep::Reassign,
        lifetimes: lifetimes(),
        ..Policy::default()
    };
    let outcome = decide(&Inputs {
        presented: &presented,
        policy: Some(&policy),
        rollout,
        ready: &View::default(),
        live: &LiveCounts::Unknown,
        salt: &salt(),
        serving: None,
        now: at(1),
        fresh: &|| session(0),
        newer: Newer::Proved,
    });
    let Outcome::Decided(decision) = outcome else {
        panic!("undecided")
    };
    (decision.pin.unwrap(), decision.kind == Kind::Moved)
}

/// C035: the canary grows from 10 to 20 of 100, and only the next tenth of the sessions moves.
#[test]
fn c035_the_share_after_a_step_follows_the_weights_with_the_least_movement() {
    const SESSIONS: u32 = 20_000;
    let before = rollout(&[("A", 90), ("B", 10)]);
    let shares = weights(&[("A", 80), ("B", 20)]);
    let stepped = before.weights(&shares, after(&before, at(0))).unwrap();
    let (mut moved, mut canary) = (0, 0);
    for n in 0..u128::from(SESSIONS) {
        let id = session(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let drawn = draw(&salt(), DrawKey::from(id), &before, &AlwaysReady).unwrap();
        let group = drawn.id().clone();
        let old = SessionPin::new(id, group.clone(), before.revision(), at(0), lifetimes());
        let (pin, left) = next(&old, &stepped);
        let now = pin.group.known().unwrap().clone();
        let is_canary = now.name().as_str() == "B";
        assert!(
            !left || is_canary,
            "{group} to {now}: only the raised group is moved to"
        );
        assert!(group == now || left);
        moved += u32::from(left);
        canary += u32::from(is_canary);
        let (_, again) = next(&pin, &stepped);
        assert!(!again, "one step moves a session once");
    }
    let near = |got: u32, share: f64| {
        let expected = f64::from(SESSIONS) * share;
        (f64::from(got) - expected).abs() <= 4.0 * (expected * (1.0 - share)).sqrt()
    };
    assert!(
        near(canary, 0.2),
        "{canary} of {SESSIONS} are on the canary"
    );
    // the logarithmic method moves little more than the difference when two weights change
    assert!(
        (0.1..0.115).contains(&(f64::from(moved) / f64::from(SESSIONS))),
        "{moved} moved"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_step_draws_exactly_the_sessions_of_the_draw_that_it_has_not_drawn_yet(
        world in World::any(), held in Held::any(), verb in any_weights()
    ) {
        let world = world.at_level(Level::Group).on_step(OnStep::Reassign).all_ready();
        let pin = held.released(false).in_world(&world);
        let step = Step { verb, wait: 0, down: None };
        let rollout = step.apply(&world.rollout, world.now).unwrap_or(world.rollout.clone());
        let world = World { rollout, ..world };
        let decision = world.decision(&shown(pin.clone()));
        let drawn = world.rollout.draw_revision();
        let active = |group: &Group| matches!(group.state(), State::Active);
        let id = pin.group.known();
        let serving = id.is_some_and(
            |id| matches!(world.rollout.status(id), Status::Serving(group) if active(group)),
        );
        let anew = serving
            && !pin.placed
            && pin.assigned < drawn
            && pin.revision <= world.rollout.revision();
        if !anew {
            prop_assert_ne!(decision.cause, Cause::Step);
            let kept = decision.pin.is_none_or(|after| after.assigned == pin.assigned);
            prop_assert!(kept, "a session was drawn anew");
            return Ok(());
        }
        let to = draw(&salt(), pin.session.into(), &world.rollout, &world.view()).unwrap();
        let after = decision.pin.clone().unwrap();
        prop_assert!(decision.issue && !after.placed && after.assigned == drawn);
        prop_assert_eq!(after.group.known(), Some(to.id()));
        let moved = Some(to.id()) != pin.group.known();
        prop_assert_eq!(decision.kind == Kind::Moved, moved);
        prop_assert_eq!(after.moves, pin.moves + u32::from(moved));
        let again = world.decision(&Shown::Pin(Box::new(after)));
        prop_assert_eq!((again.kind, again.issue), (Kind::Pinned, false), "drawn twice");
    }

    #[test]
    fn raising_one_weight_moves_sessions_to_that_group_only(
        bits in any::<u128>(), raised in 0..3_usize, by in 1..200_u64
    ) {
        let names = ["A", "B", "C"];
        let before = rollout(&[("A", 60), ("B", 30), ("C", 10)]);
        let group = before.groups().get(raised).unwrap();
        let share = u64::from(group.weight().get()) + by;
        let shares = weights(&[(names[raised], share)]);
        let stepped = before.weights(&shares, after(&before, at(0))).unwrap();
        let id = session(bits);
        let old = draw(&salt(), DrawKey::from(id), &before, &AlwaysReady).unwrap();
        let pin = SessionPin::new(id, old.id().clone(), before.revision(), at(0), lifetimes());
        let (pin, moved) = next(&pin, &stepped);
        prop_assert!(!moved || pin.group.label() == names[raised]);
    }
}
