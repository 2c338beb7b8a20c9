//! Level `version`: who takes the sessions of a group that is gone, held apart from the rule.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::world::{Held, World, any_absence, shown};
use crate::fixtures::history::{NAMES, Step, Verb};
use crate::{Cause, Group, GroupName, Kind, Level, MoveCause, Readiness, Ready, Shown, State};

/// The groups that could take over a session of `left`, in the order of their names.
fn able<'a>(world: &'a World, left: &GroupName) -> Vec<&'a Group> {
    let groups = world.rollout.groups().iter();
    let mut able: Vec<_> = groups
        .filter(|group| {
            *group.state() == State::Active
                && world.view().of(group.name()) == Ready::Yes
                && group.compatible_with().iter().any(|other| other == left)
        })
        .collect();
    able.sort_by(|one, other| one.name().cmp(other.name()));
    able
}

/// A world at level `version` in which most groups declare something.
fn any_world() -> impl Strategy<Value = World> {
    let with = prop::collection::vec(0..NAMES, 0..4);
    let declared = prop::collection::vec(with, NAMES);
    (World::any(), declared).prop_map(|(mut world, declared)| {
        for (n, with) in declared.into_iter().enumerate() {
            let verb = Verb::Declare(n, with);
            let step = Step {
                verb,
                wait: 0,
                down: None,
            };
            // one that cannot be is left out
            if let Ok(next) = step.apply(&world.rollout, world.now) {
                world.rollout = next;
            }
        }
        world.at_level(Level::Version)
    })
}

#[test]
fn the_worlds_have_sessions_that_a_compatible_group_takes_over() {
    let mut runner = TestRunner::deterministic();
    let (mut taken, mut fallen) = (0, 0);
    for _ in 0..4096 {
        let (world, held) = (any_world(), Held::any())
            .new_tree(&mut runner)
            .unwrap()
            .current();
        let decision = world.decision(&shown(held.in_world(&world)));
        taken += usize::from(decision.cause == Cause::Compatible);
        fallen += usize::from(matches!(decision.cause, Cause::Gone | Cause::GroupDown));
    }
    assert!(
        taken >= 20 && fallen >= 100,
        "{taken} were taken over, {fallen} fell"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn level_version_is_level_group_but_for_sessions_that_a_compatible_group_takes_over(
        world in any_world(), held in Held::any(), absence in any_absence(), pinned in any::<bool>()
    ) {
        let shown = if pinned { shown(held.in_world(&world)) } else { Shown::Nothing(absence) };
        let group = world.clone().at_level(Level::Group).decision(&shown);
        let version = world.decision(&shown);
        let left = match &shown {
            Shown::Pin(pin) => pin.group.known().map(|id| id.name().clone()),
            Shown::Nothing(_) => None,
        };
        let able = left.map(|left| able(&world, &left)).unwrap_or_default();
        let lost = matches!(group.cause, Cause::Gone | Cause::GroupDown | Cause::NoReady);
        if version.cause != Cause::Compatible {
            prop_assert_eq!(&version, &group);
            let stayed = group.cause == Cause::GroupDown && group.kind == Kind::Moved;
            // under a running stay the destination of the abort is the one place to go
            let by_abort = stayed && world.rollout.groups().iter().any(|g| {
                g.id() == group.moved_from().unwrap().from.known().unwrap()
                    && matches!(g.state(), State::Aborted(_))
            });
            prop_assert!(by_abort || !lost || able.is_empty() || !pinned, "{:?} was not asked", able);
            return Ok(());
        }
        prop_assert_eq!(version.kind, Kind::Moved);
        prop_assert_ne!(group.cause, Cause::Aborted);
        prop_assert_ne!(group.cause, Cause::AbortedEnd);
        let to = version.group.as_ref().unwrap();
        prop_assert!(able.iter().any(|group| group.id() == to), "{to} has not declared it");
        let chosen = world.rollout.group(to.name()).unwrap();
        if chosen.weight().is_zero() {
            prop_assert!(able.iter().all(|group| group.weight().is_zero()), "another has weight");
            prop_assert_eq!(able[0].id(), to);
        }
        prop_assert!(version.moved_from().unwrap().cause == MoveCause::Compatible);
        prop_assert!(version.issue && version.endpoint_key.is_none());
    }
}
