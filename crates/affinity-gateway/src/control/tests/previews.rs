//! Previews: what they say is what the change then does, and nothing is done by them.

use tower_affinity_testing::id;

use super::super::{Fate, Leaving, Preview};
use super::*;
use crate::config::RollbackPolicy;

const TI: Duration = Duration::from_secs(30 * 60);
const TA: Duration = Duration::from_secs(4 * 3600);
const STREAMS: Duration = Duration::from_secs(30);

/// A plane that knows of every pin: those before its start have expired.
fn settled() -> Plane {
    let plane = Plane::start(TWO);
    plane.clock.advance(TA);
    plane
}

/// Everything of a control plane that a change could touch.
type Seen = (Rollout, Vec<u8>, Vec<String>);

impl Plane {
    fn ask(&self, verb: &Verb) -> Request {
        Request {
            who: "a test".to_owned(),
            if_match: Some(self.revision()),
            verb: verb.clone(),
        }
    }

    fn seen(&self) -> Seen {
        let rollout = self.control.rollouts().current();
        let groups = self.control.groups();
        let names = groups.names();
        let endpoints = names.iter().flat_map(|name| {
            let endpoints = groups.endpoints(name);
            let line = |at: std::net::SocketAddr| format!("{name} {at}");
            let lines = endpoints.iter().map(|endpoint| line(endpoint.address()));
            lines.collect::<Vec<_>>()
        });
        let file = std::fs::read(self.directory.path().join("gateway-state.json"));
        (Rollout::clone(&rollout), file.unwrap(), endpoints.collect())
    }

    /// The preview of a change, which does nothing.
    fn preview(&self, verb: &Verb) -> Result<Preview, ControlError> {
        let before = self.seen();
        let preview = self.control.preview(&self.ask(verb));
        assert_eq!(self.seen(), before, "the preview of {verb:?} did something");
        preview
    }

    /// The preview of a change, and then the change: both lead to one state.
    fn both(&self, verb: &Verb) -> Preview {
        let preview = self.preview(verb).unwrap();
        let changed = self.control.change(&self.ask(verb)).unwrap();
        assert_eq!(preview.before, changed.before, "{verb:?}");
        assert_eq!(preview.after, *changed.after, "{verb:?}");
        preview
    }
}

fn abort(group: &str, policy: RollbackPolicy, within: Option<Duration>) -> Verb {
    Verb::Abort {
        group: name(group),
        to: None,
        policy: Some(policy),
        within,
        force: false,
    }
}

fn register(group: &str, port: u16) -> Verb {
    Verb::Register {
        group: name(group),
        endpoints: vec![([127, 0, 0, 1], port).into()],
        weight: Weight::ZERO,
        compatible_with: None,
    }
}

fn weights(group: &str, weight: u64) -> Verb {
    Verb::Weights([(name(group), Weight::new(weight).unwrap())].into())
}

fn retire(group: &str, force: bool) -> Verb {
    Verb::Retire {
        group: name(group),
        force,
    }
}

#[test]
fn every_verb_does_what_its_preview_says_and_the_preview_nothing() {
    let plane = Plane::start(TWO);
    for verb in [
        Verb::Lock,
        Verb::Unlock,
        register("ccc", 7003),
        weights("ccc", 5),
        Verb::Drain(name("ccc")),
        Verb::Promote(name("bbb")),
        abort("bbb", RollbackPolicy::Move, None),
        Verb::Restore(name("bbb")),
        retire("bbb", false),
        retire("ccc", true),
        register("ccc", 7004),
    ] {
        plane.clock.advance(Duration::from_secs(1));
        let preview = plane.both(&verb);
        let revisions = (preview.before.revision(), preview.after.revision());
        assert_eq!(revisions.0.next(), revisions.1, "{verb:?}");
        let again = plane.preview(&verb);
        let is_register = matches!(verb, Verb::Register { .. });
        if !is_register && !matches!(verb, Verb::Restore(_)) {
            let again = again.unwrap();
            assert_eq!(*again.before, again.after, "{verb:?} twice");
            assert_eq!(again.leaving, [], "{verb:?} twice");
        }
    }
}

#[test]
fn what_a_rule_refuses_its_preview_refuses_with_the_same_words() {
    let plane = Plane::start(TWO);
    plane.run(register("ccc", 7003)).unwrap();
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    for verb in [
        register("ccc", 7009),
        // an endpoint of another group
        register("ddd", 7001),
        weights("nobody", 1),
        weights("aaa", 0),
        Verb::Drain(name("aaa")),
        Verb::Restore(name("aaa")),
        retire("bbb", false),
        retire("aaa", true),
        abort("bbb", RollbackPolicy::Stay, Some(TA * 2)),
        abort("bbb", RollbackPolicy::End, Some(TI)),
        Verb::Abort {
            group: name("bbb"),
            to: Some(name("ccc")),
            policy: None,
            within: None,
            force: true,
        },
    ] {
        let preview = plane.preview(&verb).unwrap_err().to_string();
        let change = plane.run(verb.clone()).unwrap_err().to_string();
        assert_eq!(preview, change, "{verb:?}");
    }
    plane.run(Verb::Lock).unwrap();
    let error = plane.preview(&Verb::Promote(name("bbb"))).unwrap_err();
    assert!(error.to_string().contains("unlock it first"), "{error}");
}

#[test]
fn a_preview_of_another_revision_is_refused_and_that_of_an_abort_never() {
    let plane = Plane::start(TWO);
    let preview = |verb: Verb| {
        plane.control.preview(&Request {
            if_match: Some(Revision(1)),
            ..plane.ask(&verb)
        })
    };
    let error = preview(weights("bbb", 20)).unwrap_err();
    assert!(matches!(error, ControlError::Stale { .. }), "{error}");
    preview(abort("bbb", RollbackPolicy::Move, None)).unwrap();
}

#[test]
fn a_change_of_weights_a_promotion_and_a_drain_send_nobody_away() {
    let plane = Plane::start(TWO);
    for verb in [
        weights("bbb", 90),
        Verb::Promote(name("bbb")),
        Verb::Drain(name("bbb")),
        register("ccc", 7003),
        Verb::Lock,
    ] {
        if let Ok(preview) = plane.preview(&verb) {
            assert_eq!((preview.leaving, preview.redrawn), (vec![], vec![]));
        }
    }
}

#[test]
fn an_abort_says_where_sessions_go_and_by_when() {
    let plane = Plane::start(TWO);
    let now = plane.control.now();
    let (until, to) = (now.plus(TI * 2), id("aaa"));
    for (policy, within, fate, last) in [
        (
            RollbackPolicy::Move,
            None,
            Fate::Move { to: to.clone() },
            now,
        ),
        (
            RollbackPolicy::Stay,
            Some(TI * 2),
            Fate::Stay { until, to },
            until,
        ),
        (RollbackPolicy::End, None, Fate::End, now),
    ] {
        let preview = plane.preview(&abort("bbb", policy, within)).unwrap();
        let leaving = Leaving {
            group: id("bbb"),
            fate,
            by: last.plus(TI),
            cut_by: Some(last.plus(STREAMS)),
        };
        assert_eq!(preview.leaving, [leaving]);
    }
}

#[test]
fn no_session_outlives_its_greatest_age_under_a_late_deadline() {
    let plane = Plane::start(TWO);
    let preview = plane.preview(&abort("bbb", RollbackPolicy::Stay, Some(TA)));
    let by = preview.unwrap().leaving[0].by;
    assert_eq!(by, plane.control.now().plus(TA));
}

#[test]
fn another_policy_for_an_aborted_group_counts_from_when_it_last_served() {
    let plane = settled();
    plane
        .run(abort("bbb", RollbackPolicy::Stay, Some(TI)))
        .unwrap();
    plane.clock.advance(TI / 2);
    let now = plane.control.now();
    plane.control.expiries().note(&id("bbb"), now.plus(TI));
    let verb = abort("bbb", RollbackPolicy::Move, None);
    let leaving = plane.both(&verb).leaving;
    assert_eq!(
        (leaving[0].by, leaving[0].cut_by),
        (now.plus(TI), Some(now.plus(STREAMS)))
    );
    // it has not served since, and its streams are cut already
    plane.clock.advance(TI / 2);
    let end = abort("bbb", RollbackPolicy::End, None);
    let leaving = plane.preview(&end).unwrap().leaving;
    assert_eq!(
        (&leaving[0].fate, leaving[0].by, leaving[0].cut_by),
        (&Fate::End, now.plus(TI), None)
    );
}

#[test]
fn a_drained_target_sends_the_sessions_that_are_under_way_to_the_stable_group() {
    let plane = settled();
    plane.run(register("ccc", 7003)).unwrap();
    plane.run(weights("ccc", 5)).unwrap();
    plane
        .run(Verb::Abort {
            group: name("bbb"),
            to: Some(name("ccc")),
            policy: None,
            within: None,
            force: false,
        })
        .unwrap();
    let expires = plane.control.now().plus(TI);
    plane.control.expiries().note(&id("bbb"), expires);
    plane.clock.advance(TI / 2);
    let drain = Verb::Drain(name("ccc"));
    let leaving = plane.preview(&drain).unwrap().leaving;
    assert_eq!(leaving.len(), 1);
    assert_eq!(
        (&leaving[0].group, &leaving[0].fate, leaving[0].by),
        (&id("bbb"), &Fate::Move { to: id("aaa") }, expires)
    );
    plane.clock.advance(TI / 2);
    assert_eq!(plane.preview(&drain).unwrap().leaving, [], "all have moved");
}

#[test]
fn a_forced_retirement_draws_and_ends_in_strict_scopes() {
    let scopes = "[[scope]]\npath = \"/pay/*\"\non_gone = \"strict\"\n[[scope]]\npath = \"/*\"\n";
    let plane = Plane::start(&format!("{scopes}{TWO}"));
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    let leaving = plane.preview(&retire("bbb", true)).unwrap().leaving;
    let Fate::Draw { among, strict } = &leaving[0].fate else {
        panic!("{leaving:?}");
    };
    let strict: Vec<_> = strict.iter().map(ToString::to_string).collect();
    assert_eq!(
        (among.as_slice(), strict),
        (&[id("aaa")][..], vec!["/pay/*".to_owned()])
    );
    assert_eq!(leaving[0].cut_by, None);
}

#[test]
fn only_a_changed_weight_draws_anew_and_only_where_the_scope_says_so() {
    let scopes =
        "[[scope]]\npath = \"/shop/*\"\non_step = \"reassign\"\n[[scope]]\npath = \"/*\"\n";
    let plane = Plane::start(&format!("{scopes}{TWO}"));
    let redrawn = |verb| {
        let redrawn = plane.preview(&verb).unwrap().redrawn;
        redrawn.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(redrawn(weights("bbb", 50)), ["/shop/*"]);
    assert_eq!(redrawn(weights("bbb", 10)), [""; 0], "the weight it has");
    assert_eq!(redrawn(Verb::Promote(name("bbb"))), [""; 0]);
}
