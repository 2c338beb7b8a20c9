//! Wrong rules: what is decided, and which pin is left.

use tower_affinity_core::{
    Cause, Decision, GroupRef, Inputs, Kind, LiveCounts, Newer, Outcome, Presented, Readiness,
    Ready, SessionPin, Shown, State, Status, Timestamp, decide, draw,
};
use tower_affinity_testing::sim::Parts;

use super::Planted;

pub(super) struct Decides(pub(super) fn(&Inputs<'_>) -> Outcome);

impl Parts for Decides {
    fn decide(&self, inputs: &Inputs<'_>) -> Outcome {
        (self.0)(inputs)
    }
}

pub(super) type Rule = fn(&Inputs<'_>) -> Outcome;

pub(super) fn all() -> Vec<Planted> {
    let planted: [(_, Rule, &'static [_]); 10] = [
        (
            "a refresh moves the session's start",
            refresh_moves_start,
            &["the pin"],
        ),
        (
            "a renewal lowers the expiry",
            renewal_lowers_expiry,
            &["the pin"],
        ),
        (
            "weights are drawn for pinned sessions",
            weights_for_pinned,
            &["I1 obedience"],
        ),
        (
            "aborted is checked after the revisions",
            aborted_after_revisions,
            &["I2 abort"],
        ),
        (
            "a drained group forgets its sessions",
            draining_forgets,
            &["I1 obedience"],
        ),
        (
            "a session moves by weights, not to the target",
            moved_by_weights,
            &["I3 moves"],
        ),
        (
            "a running stay lifts the revision of a renewal",
            stay_lifts,
            &["the pin"],
        ),
        ("only the canary gets pins", canary_only, &["the pin"]),
        (
            "an unknown group above our revision is gone at once",
            never_waits,
            &["the decision table"],
        ),
        (
            "a group is lost without a grace",
            no_grace,
            &["I1 obedience"],
        ),
    ];
    planted
        .into_iter()
        .map(|(name, rule, found_by)| (name, Box::new(Decides(rule)) as Box<dyn Parts>, found_by))
        .collect()
}

pub(super) fn changed(inputs: &Inputs<'_>, change: impl Fn(&mut Decision)) -> Outcome {
    match decide(inputs) {
        Outcome::Decided(mut decision) => {
            change(&mut decision);
            Outcome::Decided(decision)
        }
        behind => behind,
    }
}

fn refresh_moves_start(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        if let (Kind::Pinned, true, Some(pin)) = (decision.kind, decision.issue, &mut decision.pin)
        {
            pin.started = pin.issued;
        }
    })
}

fn renewal_lowers_expiry(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        let lifetimes = inputs
            .policy
            .map(|policy| policy.lifetimes)
            .unwrap_or_default();
        if let (Kind::Moved, Some(pin)) = (decision.kind, &mut decision.pin) {
            pin.expires = pin.expires.min(pin.issued.plus(lifetimes.idle()));
        }
    })
}

pub(super) fn pin_of<'a>(inputs: &'a Inputs<'_>) -> Option<&'a SessionPin> {
    match &inputs.presented.shown {
        Shown::Pin(pin) => Some(pin),
        Shown::Nothing(_) => None,
    }
}

fn weights_for_pinned(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        if let (Cause::Ok, Some(pin)) = (decision.cause, &mut decision.pin) {
            let drawn = draw(
                inputs.salt,
                pin.session.into(),
                inputs.rollout,
                inputs.ready,
            );
            let id = drawn.map(|group| group.id().clone());
            if let Some(id) = id {
                pin.group = GroupRef::Known(id.clone());
                decision.group = Some(id);
            }
        }
    })
}

fn aborted_after_revisions(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        if let (Cause::Aborted, Some(pin)) = (decision.cause, pin_of(inputs))
            && pin.revision > inputs.rollout.revision()
        {
            decision.kind = Kind::Pinned;
            decision.cause = Cause::Behind;
            decision.group = pin.group.known().cloned();
            decision.pin = Some(pin.clone());
            decision.issue = false;
        }
    })
}

fn without_pin(inputs: &Inputs<'_>) -> Outcome {
    decide(&Inputs {
        presented: &Presented::default(),
        ..*inputs
    })
}

fn draining_forgets(inputs: &Inputs<'_>) -> Outcome {
    let id = pin_of(inputs).and_then(|pin| pin.group.known());
    match id.map(|id| inputs.rollout.status(id)) {
        Some(Status::Serving(group)) if matches!(group.state(), State::Draining { .. }) => {
            without_pin(inputs)
        }
        _ => decide(inputs),
    }
}

fn moved_by_weights(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        if let (Cause::Aborted, Some(pin)) = (decision.cause, &mut decision.pin)
            && let Some(group) = draw(
                inputs.salt,
                pin.session.into(),
                inputs.rollout,
                inputs.ready,
            )
        {
            pin.group = GroupRef::Known(group.id().clone());
            decision.group = Some(group.id().clone());
        }
    })
}

fn stay_lifts(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        if let (Cause::AbortedStay, true, Some(pin)) =
            (decision.cause, decision.issue, &mut decision.pin)
        {
            pin.revision = pin.revision.max(inputs.rollout.revision());
        }
    })
}

fn canary_only(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        let stable = decision
            .group
            .as_ref()
            .is_some_and(|id| id.name() == inputs.rollout.stable());
        if decision.kind == Kind::Assigned && stable {
            decision.pin = None;
            decision.issue = false;
        }
    })
}

fn never_waits(inputs: &Inputs<'_>) -> Outcome {
    decide(&Inputs {
        newer: Newer::Proved,
        ..*inputs
    })
}

struct Graceless<'a>(&'a dyn Readiness);

impl Readiness for Graceless<'_> {
    fn of(&self, group: &tower_affinity_core::GroupName) -> Ready {
        match self.0.of(group) {
            Ready::Yes => Ready::Yes,
            Ready::No { .. } => Ready::No {
                since: Timestamp::from_millis(0),
            },
        }
    }
}

fn no_grace(inputs: &Inputs<'_>) -> Outcome {
    decide(&Inputs {
        ready: &Graceless(inputs.ready),
        live: &LiveCounts::Unknown,
        ..*inputs
    })
}
