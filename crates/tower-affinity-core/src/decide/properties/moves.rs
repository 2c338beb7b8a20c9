//! I3 and I4: one session that alternates between two replicas, one of them behind.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use crate::fixtures::history::{Reached, any_kept, play, steps};
use crate::fixtures::{codec, lifetimes, salt, session};
use crate::{
    Absence, AlwaysReady, Decision, GroupId, Inputs, Kind, Newer, Outcome, PinCodec, Policy,
    Presented, Revision, Rollout, SessionPin, Shown, Timestamp, decide,
};

/// One request: to which replica, how far its state has come by then, and which of the pins that
/// the client ever got it shows (the newest, unless an older one was put back).
#[derive(Clone, Copy, Debug)]
struct Request {
    second: bool,
    caught_up: usize,
    old_pin: Option<prop::sample::Index>,
    wait: u64,
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let old = prop_oneof![2 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    let request = (any::<bool>(), 0..4_usize, old, 0..400_u64).prop_map(
        |(second, caught_up, old_pin, wait)| Request {
            second,
            caught_up,
            old_pin,
            wait,
        },
    );
    prop::collection::vec(request, 1..25)
}

/// What one request led to.
#[derive(Clone, Debug)]
struct Answer {
    second: bool,
    shown: Option<SessionPin>,
    decision: Decision,
    /// The state of the replica that answered.
    rollout: Rollout,
    now: Timestamp,
}

/// A replica that has come this far in the history.
struct Replica {
    codec: PinCodec,
    state: usize,
}

impl Replica {
    fn answer(&self, rollout: &Rollout, token: Option<&str>, now: Timestamp) -> Option<Answer> {
        let shown = token.map(|token| {
            let mut pin = self
                .codec
                .open(token.as_bytes(), now, lifetimes())
                .ok()?
                .pin;
            self.codec.codes(rollout).unwrap().resolve(&mut pin);
            Some(pin)
        });
        // the history is short, so only a pin that ended is no pin any more
        let shown = match shown {
            Some(None) => return None,
            Some(Some(pin)) => Some(pin),
            None => None,
        };
        let presented = Presented {
            shown: match &shown {
                Some(pin) => Shown::Pin(Box::new(pin.clone())),
                None => Shown::Nothing(Absence::New),
            },
            key: None,
        };
        let policy = Policy {
            lifetimes: lifetimes(),
            ..Policy::default()
        };
        let outcome = decide(&Inputs {
            presented: &presented,
            policy: Some(&policy),
            rollout,
            ready: &AlwaysReady,
            salt: &salt(),
            serving: None,
            now,
            fresh: session(77),
            newer: Newer::Unproven { behind_since: now },
        });
        let Outcome::Decided(decision) = outcome else {
            panic!("a replica that has asked already asks again");
        };
        Some(Answer {
            second: false,
            shown,
            decision,
            rollout: rollout.clone(),
            now,
        })
    }
}

/// The answers to all requests. With `jar`, older pins can be put back; without, the newest wins.
fn walk(states: &[Reached], requests: &[Request], jar: bool) -> Vec<Answer> {
    let replica = || Replica {
        codec: codec("checkout", &[("k1", 1)]),
        state: 0,
    };
    let mut replicas = [replica(), replica()];
    let mut pins: Vec<(SessionPin, String)> = Vec::new();
    let mut answers = Vec::new();
    let mut now = states.last().unwrap().now;
    for request in requests {
        now = now.plus(Duration::from_secs(request.wait));
        let replica = &mut replicas[usize::from(request.second)];
        replica.state = (replica.state + request.caught_up).min(states.len() - 1);
        let rollout = &states[replica.state].rollout;
        let old = request.old_pin.filter(|_| jar && !pins.is_empty());
        let token = match old {
            Some(index) => Some(index.get(&pins).1.clone()),
            None => pins
                .iter()
                .max_by_key(|(pin, _)| pin.precedence())
                .map(|(_, t)| t.clone()),
        };
        let Some(answer) = replica.answer(rollout, token.as_deref(), now) else {
            continue;
        };
        if answer.decision.issue {
            let pin = answer.decision.pin.clone().unwrap();
            let sealed = replica.codec.seal(&pin).token;
            pins.push((pin, sealed));
        }
        answers.push(Answer {
            second: request.second,
            ..answer
        });
    }
    answers
}

fn served(answer: &Answer) -> Option<&GroupId> {
    match answer.decision.kind {
        Kind::Refused => None,
        _ => answer.decision.group.as_ref(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i3_each_abort_moves_a_session_once_and_nothing_leads_back(
        steps in steps(any_kept(), 12, 30), requests in requests()
    ) {
        let mut left: BTreeSet<GroupId> = BTreeSet::new();
        for answer in walk(&play(&steps), &requests, false) {
            if let Some(group) = served(&answer) {
                prop_assert!(!left.contains(group), "led back to {group}");
            }
            if answer.decision.kind == Kind::Moved {
                let last = answer.decision.moved_from().unwrap();
                prop_assert_eq!(last.cause.as_str(), "aborted", "nothing was retired");
                let from = answer.shown.as_ref().unwrap().group.known().unwrap();
                prop_assert!(left.insert(from.clone()), "{from} was left twice");
            }
        }
    }

    #[test]
    fn i3_an_older_pin_that_was_put_back_moves_to_no_group_that_was_left(
        steps in steps(any_kept(), 12, 30), requests in requests()
    ) {
        let mut edges: BTreeSet<(GroupId, GroupId)> = BTreeSet::new();
        for answer in walk(&play(&steps), &requests, true) {
            if let Some(group) = served(&answer) {
                let aborted = answer.rollout.is_aborted(group, answer.now);
                prop_assert!(!aborted, "a replica that knows of the abort serves {group}");
            }
            if answer.decision.kind == Kind::Moved {
                let from = answer.shown.as_ref().unwrap().group.known().unwrap().clone();
                let to = answer.decision.group.clone().unwrap();
                let reversed = edges.contains(&(to.clone(), from.clone()));
                prop_assert!(!reversed, "{from} to {to} and back");
                edges.insert((from, to));
            }
        }
    }

    #[test]
    fn i4_the_revisions_of_one_sessions_pins_never_fall(
        steps in steps(any_kept(), 12, 30), requests in requests()
    ) {
        let mut last = [Revision(0); 2];
        for answer in walk(&play(&steps), &requests, false) {
            if !answer.decision.issue {
                continue;
            }
            let revision = answer.decision.pin.unwrap().revision;
            let before = &mut last[usize::from(answer.second)];
            prop_assert!(revision >= *before, "{revision} after {before}");
            *before = revision;
        }
    }

    #[test]
    fn the_session_and_its_start_never_change(
        steps in steps(any_kept(), 12, 30), requests in requests()
    ) {
        for answer in walk(&play(&steps), &requests, true) {
            if let (Some(shown), Some(pin)) = (answer.shown, answer.decision.pin) {
                prop_assert_eq!((shown.session, shown.started), (pin.session, pin.started));
                prop_assert_eq!(shown.assigned, pin.assigned);
                prop_assert!(pin.moves >= shown.moves && pin.expires >= shown.expires);
            }
        }
    }
}
