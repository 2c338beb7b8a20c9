//! Wrong rules for sessions that a tester chose, a step draws anew, or their application let go.

use tower_affinity_core::{
    Cause, Inputs, Kind, Level, MoveCause, Outcome, SessionPin, Shown, decide,
};
use tower_affinity_testing::sim::Parts;

use super::Planted;
use super::decisions::{Decides, Rule, changed, pin_of};

pub(super) fn all() -> Vec<Planted> {
    let planted: [(_, Rule, &'static [_]); 3] = [
        (
            "a sticky override begins a session in a draining group",
            sticky_while_draining,
            &["the decision table"],
        ),
        (
            "a step draws placed sessions anew",
            step_draws_placed,
            &["I1 obedience", "the pin"],
        ),
        (
            "a release is honoured for an active group",
            releases_at_once,
            &["I1 obedience"],
        ),
    ];
    planted
        .into_iter()
        .map(|(name, rule, found_by)| (name, Box::new(Decides(rule)) as Box<dyn Parts>, found_by))
        .collect()
}

fn sticky_while_draining(inputs: &Inputs<'_>) -> Outcome {
    let chosen = inputs.presented.chosen.as_ref();
    let sticky = chosen.is_some_and(|chosen| chosen.sticky);
    let policy = inputs.policy.copied().unwrap_or_default();
    changed(inputs, |decision| {
        if let (true, Level::Group, Cause::Granted, Some(id)) =
            (sticky, policy.level, decision.cause, &decision.group)
        {
            let revision = inputs.rollout.revision();
            let pin = SessionPin::new(
                (inputs.fresh)(),
                id.clone(),
                revision,
                inputs.now,
                policy.lifetimes,
            );
            decision.cause = Cause::Sticky;
            decision.pin = Some(SessionPin {
                placed: true,
                ..pin
            });
            decision.issue = true;
        }
    })
}

fn step_draws_placed(inputs: &Inputs<'_>) -> Outcome {
    let mut presented = inputs.presented.clone();
    if let Shown::Pin(pin) = &mut presented.shown {
        pin.placed = false;
    }
    let placed = pin_of(inputs).is_some_and(|pin| pin.placed);
    let inputs = Inputs {
        presented: &presented,
        ..*inputs
    };
    changed(&inputs, |decision| {
        if let Some(pin) = &mut decision.pin {
            pin.placed |= placed;
        }
    })
}

fn releases_at_once(inputs: &Inputs<'_>) -> Outcome {
    let Some(pin) = pin_of(inputs).filter(|pin| pin.released) else {
        return decide(inputs);
    };
    changed(inputs, |decision| {
        if decision.cause == Cause::Ok {
            let to = inputs.rollout.stable_id();
            let lifetimes = inputs
                .policy
                .map(|policy| policy.lifetimes)
                .unwrap_or_default();
            let revision = inputs.rollout.revision();
            let cause = MoveCause::Released;
            decision.pin = Some(pin.moved(to.clone(), cause, revision, inputs.now, lifetimes));
            decision.kind = Kind::Moved;
            decision.cause = Cause::Released;
            decision.group = Some(to);
            decision.issue = true;
        }
    })
}
