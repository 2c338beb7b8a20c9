//! What holds for every process that is one group, whether it forwards or not.

use proptest::prelude::*;

use super::world::{Held, World, any_absence, shown};
use crate::{
    Absence, Cause, Decision, Forwarding, GroupName, Kind, Outcome, Serving, Shown, State,
};

fn decision(world: &World, shown: &Shown, group: &GroupName, forwarding: Forwarding) -> Decision {
    match world.outcome_in(shown, Some(Serving { group, forwarding })) {
        Outcome::Decided(decision) => decision,
        Outcome::Behind(revision) => panic!("nobody to ask for {revision}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_pin_is_decided_alike_by_the_processes_of_all_groups_and_by_a_gateway(
        world in World::any(), held in Held::any(), here in any::<prop::sample::Index>()
    ) {
        let world = world.on_step(crate::OnStep::Keep);
        let ids: Vec<_> = world.rollout.ids().cloned().collect();
        let group = here.get(&ids).name();
        let shown = shown(held.in_world(&world));
        let forwarding = decision(&world, &shown, group, Forwarding::Foreign);
        if matches!(shown, Shown::Pin(_)) {
            prop_assert_eq!(&decision(&world, &shown, group, Forwarding::ByWeight), &forwarding);
        }
        prop_assert_ne!(forwarding.cause, Cause::NotServedHere);
        if matches!(forwarding.kind, Kind::Pinned | Kind::Moved | Kind::Refused) {
            prop_assert_eq!(&forwarding, &world.decision(&shown));
        }
        // one that does not forward differs only in refusing what belongs to another group
        let refusing = decision(&world, &shown, group, Forwarding::Never);
        if matches!(forwarding.kind, Kind::Pinned | Kind::Moved) {
            let elsewhere = forwarding.group.as_ref().is_some_and(|id| id.name() != group);
            prop_assert_eq!(refusing.cause == Cause::NotServedHere, elsewhere);
            prop_assert_eq!(refusing.group, forwarding.group);
        }
    }

    #[test]
    fn a_process_whose_group_is_not_active_gives_what_has_no_pin_to_an_active_one(
        world in World::any(), absence in any_absence(), here in any::<prop::sample::Index>()
    ) {
        let ids: Vec<_> = world.rollout.ids().cloned().collect();
        let group = here.get(&ids).name();
        let decision = decision(&world, &Shown::Nothing(absence), group, Forwarding::Foreign);
        let active = |name: &GroupName| {
            let group = world.rollout.group(name);
            group.is_some_and(|group| matches!(group.state(), State::Active))
        };
        match &decision.group {
            Some(to) => {
                prop_assert!(active(to.name()), "{to} is not active");
                prop_assert!(!active(group) || to.name() == group, "it left an active group");
            }
            None => prop_assert_eq!(decision.cause, Cause::NoReady),
        }
    }

    #[test]
    fn a_process_that_draws_by_weight_begins_sessions_where_a_gateway_does(
        world in World::any(), absence in any_absence(), here in any::<prop::sample::Index>()
    ) {
        let ids: Vec<_> = world.rollout.ids().cloned().collect();
        let (group, shown) = (here.get(&ids).name(), Shown::Nothing(absence));
        let by_weight = decision(&world, &shown, group, Forwarding::ByWeight);
        let begins = !matches!(absence, Absence::Preflight | Absence::Withheld);
        if begins && world.policy.level.has_session() {
            prop_assert_eq!(by_weight, world.decision(&shown));
        } else {
            prop_assert_eq!(by_weight, decision(&world, &shown, group, Forwarding::Foreign));
        }
    }
}
