//! I1, I2, I5 and I7: what holds for every single request.

use proptest::prelude::*;

use super::world::{Held, World, any_absence, any_fault, any_wide_level, shown};
use crate::fixtures::history::{Step, any_weights};
use crate::{
    Absence, Cause, Cohort, EndpointId, EndpointRef, GROUP_GRACE, GroupName, GroupRef, Kind, Level,
    OnGone, OnStep, Readiness, Ready, Shown, State, Status,
};

/// Whether a group is lost here, judged apart from the rule.
pub(super) fn is_lost(world: &World, name: &GroupName) -> bool {
    let past = |name: &GroupName| match world.view().of(name) {
        Ready::Yes => false,
        Ready::No { since } => world.now.since(since) >= GROUP_GRACE,
    };
    let counted: Vec<_> = world
        .rollout
        .groups()
        .iter()
        .filter(|group| matches!(group.state().name(), "active" | "draining"))
        .collect();
    let lost = counted.iter().filter(|group| past(group.name())).count();
    past(name) && 2 * lost <= counted.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i1_a_valid_pin_to_a_serving_group_that_is_not_lost_is_obeyed(
        world in World::any(), held in Held::any(), level in any_wide_level()
    ) {
        let world = world.at_level(level).on_step(OnStep::Keep);
        let pin = held.in_world(&world);
        let Some(id) = pin.group.known().cloned() else { return Ok(()) };
        let serves = matches!(world.rollout.status(&id), Status::Serving(_));
        let let_go = held.is_released() || world.moves_on();
        if !serves || let_go || is_lost(&world, id.name()) {
            return Ok(());
        }
        let decision = world.decision(&shown(pin.clone()));
        prop_assert_eq!(decision.kind, Kind::Pinned);
        prop_assert_eq!(decision.group, Some(id));
        let kept = decision.pin.unwrap();
        prop_assert_eq!((kept.session, kept.started, kept.group), (pin.session, pin.started, pin.group));
        prop_assert_eq!((kept.assigned, kept.moves), (pin.assigned, pin.moves));
        prop_assert!(kept.revision >= pin.revision && kept.expires >= pin.expires);
    }

    #[test]
    fn level_endpoint_decides_as_level_group_but_for_the_endpoint(
        world in World::any(), held in Held::any(), absence in any_absence(), pinned in any::<bool>()
    ) {
        let shown = if pinned { shown(held.in_world(&world)) } else { Shown::Nothing(absence) };
        let above = matches!(&shown, Shown::Pin(pin) if pin.revision > world.rollout.revision());
        let group = world.clone().at_level(Level::Group).decision(&shown);
        let endpoint = world.at_level(Level::Endpoint).decision(&shown);
        prop_assert_eq!(&group.group, &endpoint.group);
        prop_assert_eq!((group.kind, group.cohort), (endpoint.kind, endpoint.cohort));
        prop_assert!(group.endpoint_key.is_none() && !group.takes_endpoint());
        let lost = endpoint.cause == Cause::EndpointLost;
        prop_assert!(group.cause == endpoint.cause || (lost && group.kind == Kind::Pinned));
        prop_assert!(endpoint.issue || !group.issue, "no renewal is left out");
        let Some(pin) = &endpoint.pin else { return Ok(()) };
        if endpoint.kind != Kind::Refused {
            let gone = EndpointRef::Known(EndpointId::new("gone"));
            let names_gone = pin.endpoint.as_ref() == Some(&gone);
            prop_assert!(!names_gone || above, "the pin still names what is gone");
            prop_assert!(!lost || (endpoint.issue && endpoint.takes_endpoint()));
        }
        if endpoint.kind == Kind::Moved {
            prop_assert_eq!(&pin.endpoint, &None);
        }
    }

    #[test]
    fn i2_no_decision_names_an_aborted_group(
        world in World::any(), held in Held::any(), absence in any_absence(), pinned in any::<bool>()
    ) {
        let shown = if pinned { shown(held.in_world(&world)) } else { Shown::Nothing(absence) };
        let decision = world.decision(&shown);
        if decision.kind == Kind::Refused {
            prop_assert!(!decision.issue, "a refusal writes no pin");
            return Ok(());
        }
        let group = decision.group.unwrap();
        prop_assert!(!world.rollout.is_aborted(&group, world.now), "{group} is aborted");
        let serves = matches!(world.rollout.status(&group), Status::Serving(_));
        let stays = matches!(world.rollout.status(&group), Status::Aborted(a) if a.stays(world.now));
        prop_assert!(serves || stays, "{} does not serve", group);
    }

    #[test]
    fn a_decision_and_its_pin_agree(
        world in World::any(), held in Held::any(), absence in any_absence(), pinned in any::<bool>()
    ) {
        let shown = if pinned { shown(held.in_world(&world)) } else { Shown::Nothing(absence) };
        let decision = world.decision(&shown);
        let bypassed = decision.kind == Kind::Bypassed;
        prop_assert!(!bypassed || (decision.pin.is_none() && decision.cohort == Cohort::None));
        prop_assert!(!decision.issue || decision.pin.is_some());
        if let (Some(pin), false) = (&decision.pin, decision.kind == Kind::Refused) {
            prop_assert_eq!(pin.group.known(), decision.group.as_ref());
            prop_assert!(pin.expires <= pin.started.plus(world.policy.lifetimes.max_age()));
            prop_assert!(pin.issued <= world.now);
        }
        if decision.kind == Kind::Moved {
            let last = decision.moved_from().unwrap();
            prop_assert!(decision.issue);
            prop_assert_ne!(last.from.known(), decision.group.as_ref(), "moved to where it was");
            let stepped = last.cause.as_str() == "step";
            prop_assert!(stepped || decision.cohort == Cohort::Moved);
        }
    }

    #[test]
    fn i2_a_new_session_goes_only_to_an_active_group_with_weight(
        world in World::any(), fault in any_fault(), faulty in any::<bool>()
    ) {
        let world = world.at_level(Level::Group);
        let absence = if faulty { Absence::Fault(fault) } else { Absence::New };
        let decision = world.decision(&Shown::Nothing(absence));
        let ready = |name: &GroupName| world.view().of(name) == Ready::Yes;
        let able = world.rollout.groups().iter().filter(|g| g.takes_new_sessions() && ready(g.name()));
        prop_assert_eq!(decision.kind == Kind::Refused, able.count() == 0);
        if let Some(id) = decision.group {
            let group = world.rollout.group(id.name()).unwrap();
            prop_assert_eq!(group.state(), &State::Active);
            prop_assert!(!group.weight().is_zero() && ready(id.name()));
        }
    }

    #[test]
    fn i5_weights_touch_only_new_sessions(
        world in World::any(), held in Held::any(), verb in any_weights()
    ) {
        // a weight can make a draining group active again, and its sessions then stay
        let held = held.released(false);
        let world = world.at_level(Level::Group).on_step(OnStep::Keep).all_ready().loads_page(false);
        let shown = shown(held.in_world(&world));
        let before = world.decision(&shown);
        let step = Step { verb, wait: 0, down: None };
        let Ok(rollout) = step.apply(&world.rollout, world.now) else { return Ok(()) };
        let after = World { rollout, ..world }.decision(&shown);
        if before.kind == Kind::Pinned {
            prop_assert_eq!(after.kind, Kind::Pinned);
            prop_assert_eq!(after.group, before.group);
        } else {
            prop_assert_eq!(after.kind, before.kind, "no weight saves or ends a session");
        }
    }

    #[test]
    fn a_session_that_is_let_go_moves_to_the_stable_group_or_is_held(
        world in World::any(), held in Held::any()
    ) {
        let world = world.at_level(Level::Group);
        let pin = held.released(true).in_world(&world);
        let decision = world.decision(&shown(pin.clone()));
        let Some(after) = &decision.pin else { return Ok(()) };
        match decision.kind {
            Kind::Refused => prop_assert_eq!(after, &pin),
            Kind::Moved => prop_assert!(!after.released),
            _ if pin.revision > world.rollout.revision() => prop_assert!(after.released),
            // a strict scope waits for a group that is lost
            _ => prop_assert!(!after.released || world.policy.on_gone == OnGone::Strict),
        }
        if decision.cause == Cause::Released {
            prop_assert_eq!(decision.group.unwrap(), world.rollout.stable_id());
            prop_assert!(world.view().of(world.rollout.stable()) == Ready::Yes);
            let again = world.decision(&shown(after.clone()));
            prop_assert_eq!(again.kind, Kind::Pinned, "let go once, moved once");
        }
    }

    #[test]
    fn i7_every_fault_is_served_exactly_like_no_pin(world in World::any(), fault in any_fault()) {
        let unpinned = world.decision(&Shown::Nothing(Absence::New));
        let faulty = world.decision(&Shown::Nothing(Absence::Fault(fault)));
        prop_assert_eq!(faulty.kind, unpinned.kind);
        prop_assert_eq!(faulty.group, unpinned.group);
        prop_assert_eq!(faulty.pin, unpinned.pin);
        prop_assert_eq!((faulty.issue, faulty.cohort), (unpinned.issue, unpinned.cohort));
        if unpinned.kind == Kind::Assigned {
            prop_assert_eq!(faulty.cause, fault.into());
        }
    }

    #[test]
    fn a_strict_scope_moves_nobody_but_for_an_abort_a_step_or_when_let_go(world in World::any(), held in Held::any()) {
        let mut world = world.at_level(Level::Group);
        world.policy.on_gone = OnGone::Strict;
        let decision = world.decision(&shown(held.in_world(&world)));
        if decision.kind == Kind::Moved {
            let last = decision.moved_from().unwrap();
            let GroupRef::Known(from) = &last.from else { panic!("an unknown group was left") };
            match last.cause.as_str() {
                "aborted" => prop_assert!(world.rollout.is_aborted(from, world.now)),
                "step" => prop_assert_eq!(world.policy.on_step, OnStep::Reassign),
                "released" => prop_assert!(held.is_released() || world.moves_on()),
                other => prop_assert!(false, "{} is no reason to move", other),
            }
        }
    }
}
