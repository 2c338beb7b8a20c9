//! I3 and I4: one session that alternates between two replicas, one of them behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::fixtures::history::{Reached, any_of_interest, play_four, steps};
use crate::fixtures::{codec, lifetimes, salt, session};
use crate::{
    Absence, AlwaysReady, Cause, Decision, GroupCodes, GroupId, Inputs, Kind, LiveCounts, Newer,
    Outcome, PinCodec, Policy, Presented, Revision, Rollout, SessionId, SessionPin, Shown, Status,
    Timestamp, decide,
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
    let request = (
        any::<bool>(),
        prop::sample::select(vec![0, 0, 0, 1, 2]),
        old,
        0..400_u64,
    )
        .prop_map(|(second, caught_up, old_pin, wait)| Request {
            second,
            caught_up,
            old_pin,
            wait,
        });
    prop::collection::vec(request, 10..40)
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

/// What every replica has: the service's keys, and the states that it learns of one by one.
struct Fleet<'a> {
    codec: PinCodec,
    states: &'a [Reached],
    codes: Vec<GroupCodes>,
}

impl<'a> Fleet<'a> {
    fn new(states: &'a [Reached]) -> Self {
        let codec = codec("checkout", &[("k1", 1)]);
        let codes = states
            .iter()
            .map(|state| codec.codes(&state.rollout).unwrap());
        Self {
            codes: codes.collect(),
            codec,
            states,
        }
    }

    /// What a replica that has come to `state` shows the rule of a token.
    fn shown(&self, state: usize, token: Option<&str>, now: Timestamp) -> Shown {
        let Some(token) = token else {
            return Shown::Nothing(Absence::New);
        };
        match self.codec.open(token.as_bytes(), now, lifetimes()) {
            Err(fault) => Shown::Nothing(Absence::Fault(fault)),
            Ok(mut opened) => {
                self.codes[state].resolve(&mut opened.pin);
                Shown::Pin(Box::new(opened.pin))
            }
        }
    }

    fn answer(&self, state: usize, shown: Shown, now: Timestamp, fresh: SessionId) -> Answer {
        let presented = Presented {
            shown,
            ..Presented::default()
        };
        let policy = Policy {
            lifetimes: lifetimes(),
            ..Policy::default()
        };
        let rollout = &self.states[state].rollout;
        let outcome = decide(&Inputs {
            presented: &presented,
            policy: Some(&policy),
            rollout,
            ready: &AlwaysReady,
            live: &LiveCounts::Unknown,
            salt: &salt(),
            serving: None,
            now,
            fresh: &|| fresh,
            newer: Newer::Unproven { behind_since: now },
        });
        let Outcome::Decided(decision) = outcome else {
            panic!("a replica that has asked already asks again");
        };
        Answer {
            second: false,
            shown: match presented.shown {
                Shown::Pin(pin) => Some(*pin),
                Shown::Nothing(_) => None,
            },
            decision,
            rollout: rollout.clone(),
            now,
        }
    }
}

/// The answers to all requests. With `jar`, older pins can be put back; without, the newest wins.
fn walk(states: &[Reached], requests: &[Request], jar: bool) -> Vec<Answer> {
    let fleet = Fleet::new(states);
    let mut replicas = [0, 0];
    let mut pins: Vec<(SessionPin, String)> = Vec::new();
    let mut answers = Vec::new();
    let mut now = states.last().unwrap().now;
    for (n, request) in requests.iter().enumerate() {
        now = now.plus(Duration::from_secs(request.wait));
        let state = &mut replicas[usize::from(request.second)];
        *state = (*state + request.caught_up).min(states.len() - 1);
        let old = request.old_pin.filter(|_| jar && !pins.is_empty());
        let held = match old {
            Some(index) => Some(index.get(&pins)),
            None => pins.iter().max_by_key(|(pin, _)| pin.precedence()),
        };
        let shown = fleet.shown(*state, held.map(|(_, token)| token.as_str()), now);
        let answer = fleet.answer(*state, shown, now, session(n as u128));
        if answer.shown.is_none() || answer.decision.cause == Cause::AbortedEnd {
            // a session ended or has to: its pins are cleared, the next one begins
            pins.clear();
        }
        if answer.decision.issue {
            let pin = answer.decision.pin.clone().unwrap();
            let sealed = fleet.codec.seal(&pin).token;
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

/// How often the walks meet what they are made for.
#[derive(Debug, Default)]
struct Reach {
    moved: usize,
    moved_again: usize,
    behind: usize,
    refused_behind: usize,
    stayed: usize,
    ended: usize,
    chained: usize,
}

impl Reach {
    fn count(&mut self, answer: &Answer) {
        let Some(shown) = &answer.shown else { return };
        let decision = &answer.decision;
        match (decision.kind, decision.cause) {
            (Kind::Moved, _) => {
                self.moved += 1;
                self.moved_again += usize::from(shown.moves > 0);
                let direct = match answer.rollout.status(shown.group.known().unwrap()) {
                    Status::Aborted(abort) => decision.group.as_ref() == Some(&abort.target),
                    _ => false,
                };
                self.chained += usize::from(!direct);
            }
            (Kind::Pinned, Cause::Behind) => self.behind += 1,
            (Kind::Pinned, Cause::AbortedStay) => self.stayed += 1,
            (Kind::Refused, Cause::Behind) => self.refused_behind += 1,
            (Kind::Refused, Cause::AbortedEnd) => self.ended += 1,
            _ => {}
        }
    }
}

#[test]
fn the_walks_reach_what_they_are_made_for() {
    let mut runner = TestRunner::deterministic();
    let mut reach = Reach::default();
    let walks = (steps(any_of_interest(), 20, 30), requests());
    for _ in 0..256 {
        let (steps, requests) = walks.new_tree(&mut runner).unwrap().current();
        for answer in walk(&play_four(&steps), &requests, true) {
            reach.count(&answer);
        }
    }
    let enough = reach.moved >= 30
        && reach.moved_again >= 2
        && reach.chained >= 5
        && reach.behind >= 200
        && reach.refused_behind >= 1
        && reach.stayed >= 30
        && reach.ended >= 10;
    assert!(enough, "the walks miss what they are for: {reach:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i3_each_abort_moves_a_session_once_and_nothing_leads_back(
        steps in steps(any_of_interest(), 20, 30), requests in requests()
    ) {
        let mut left: BTreeSet<(SessionId, GroupId)> = BTreeSet::new();
        for answer in walk(&play_four(&steps), &requests, false) {
            let Some(session) = answer.decision.session() else { continue };
            if let Some(group) = served(&answer) {
                let back = left.contains(&(session, group.clone()));
                prop_assert!(!back, "led back to {group}");
            }
            if answer.decision.kind == Kind::Moved {
                let last = answer.decision.moved_from().unwrap();
                prop_assert_eq!(last.cause.as_str(), "aborted", "nothing was retired");
                let from = answer.shown.as_ref().unwrap().group.known().unwrap();
                prop_assert!(left.insert((session, from.clone())), "{from} was left twice");
            }
        }
    }

    #[test]
    fn i3_an_older_pin_that_was_put_back_moves_to_no_group_that_was_left(
        steps in steps(any_of_interest(), 20, 30), requests in requests()
    ) {
        let mut edges: BTreeSet<(GroupId, GroupId)> = BTreeSet::new();
        for answer in walk(&play_four(&steps), &requests, true) {
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
        steps in steps(any_of_interest(), 20, 30), requests in requests()
    ) {
        let mut last: BTreeMap<(SessionId, bool), Revision> = BTreeMap::new();
        for answer in walk(&play_four(&steps), &requests, false) {
            if !answer.decision.issue {
                continue;
            }
            let pin = answer.decision.pin.unwrap();
            let before = last.entry((pin.session, answer.second)).or_default();
            prop_assert!(pin.revision >= *before, "{} after {before}", pin.revision);
            *before = pin.revision;
        }
    }

    #[test]
    fn the_session_and_its_start_never_change(
        steps in steps(any_of_interest(), 20, 30), requests in requests()
    ) {
        for answer in walk(&play_four(&steps), &requests, true) {
            if let (Some(shown), Some(pin)) = (answer.shown, answer.decision.pin) {
                prop_assert_eq!((shown.session, shown.started), (pin.session, pin.started));
                prop_assert_eq!(shown.assigned, pin.assigned);
                prop_assert!(pin.moves >= shown.moves && pin.expires >= shown.expires);
            }
        }
    }
}
