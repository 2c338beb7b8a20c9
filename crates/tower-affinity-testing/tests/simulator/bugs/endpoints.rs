//! Wrong endpoints: sessions that are bound to one leave it, or stay where none is.

use tower_affinity_core::{
    Answer, EndpointRef, GroupId, GroupName, Inputs, Kind, Level, Outcome, Policy, Readiness,
    Ready, Settled, decide, settle,
};
use tower_affinity_testing::sim::Parts;

use super::Planted;
use super::decisions::{Decides, Rule, changed, pin_of};

/// What is inside does not hear which endpoint has answered a session that has one.
struct KeepsLeft;

impl Parts for KeepsLeft {
    fn settle(&self, answer: &Answer<'_>, is_aborted: &dyn Fn(&GroupId) -> bool) -> Settled {
        let decision = answer.decision;
        let served_by = answer.served_by.filter(|_| decision.takes_endpoint());
        let deaf = Answer {
            served_by,
            ..*answer
        };
        settle(&deaf, is_aborted)
    }
}

pub(super) fn all() -> Vec<Planted> {
    let planted: [(_, Rule, &'static [_]); 4] = [
        ("a move keeps the endpoint", move_keeps, &["the endpoint"]),
        (
            "the endpoint of a pin is ignored",
            ignored,
            &["the endpoint"],
        ),
        (
            "a request goes to any endpoint",
            forgotten,
            &["the endpoint", "I1 the same endpoint"],
        ),
        (
            "an endpoint that is gone is not missed",
            never_lost,
            &["I1 obedience", "the pin"],
        ),
    ];
    let decides = planted
        .into_iter()
        .map(|(name, rule, found_by)| (name, Box::new(Decides(rule)) as Box<dyn Parts>, found_by));
    let settles: Planted = (
        "an endpoint that was left stays in the pin",
        Box::new(KeepsLeft),
        &["the pin"],
    );
    decides.chain([settles]).collect()
}

fn move_keeps(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        if let (Kind::Moved, Some(before), Some(pin)) =
            (decision.kind, pin_of(inputs), &mut decision.pin)
        {
            pin.endpoint = before.endpoint.clone();
        }
    })
}

fn ignored(inputs: &Inputs<'_>) -> Outcome {
    let names = pin_of(inputs).is_some_and(|pin| pin.endpoint.is_some());
    let group = |policy: &Policy| Policy {
        level: match policy.level {
            Level::Endpoint if names => Level::Group,
            level => level,
        },
        ..*policy
    };
    let policy = inputs.policy.map(group);
    decide(&Inputs {
        policy: policy.as_ref(),
        ..*inputs
    })
}

fn forgotten(inputs: &Inputs<'_>) -> Outcome {
    changed(inputs, |decision| {
        if let (Kind::Pinned, Some(pin)) = (decision.kind, &mut decision.pin) {
            pin.endpoint = None;
        }
    })
}

/// A view in which every endpoint takes requests.
struct HasAll<'a>(&'a dyn Readiness);

impl Readiness for HasAll<'_> {
    fn of(&self, group: &GroupName) -> Ready {
        self.0.of(group)
    }

    fn has(&self, _: &GroupName, _: &EndpointRef) -> bool {
        true
    }
}

fn never_lost(inputs: &Inputs<'_>) -> Outcome {
    decide(&Inputs {
        ready: &HasAll(inputs.ready),
        ..*inputs
    })
}
