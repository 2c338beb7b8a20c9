//! Verbs: what they count on besides the rules of the core.

use tower_affinity::balance::{EndpointState, Source};

use super::*;

#[test]
fn a_stale_revision_is_refused_except_for_an_abort() {
    let plane = Plane::start(TWO);
    let stale = Some(Revision(plane.revision().0 - 1));
    let run = |verb| {
        plane.control.change(&Request {
            who: "a test".to_owned(),
            if_match: stale,
            verb,
        })
    };
    let weights = BTreeMap::from([(name("aaa"), Weight::new(1).unwrap())]);
    let error = run(Verb::Weights(weights)).unwrap_err();
    assert!(matches!(error, ControlError::Stale { .. }), "{error}");
    let abort = Verb::Abort {
        group: name("bbb"),
        to: None,
        policy: None,
        within: None,
        force: false,
    };
    run(abort).unwrap();
    assert_eq!(plane.shown()[1].1, "aborted");
}

#[test]
fn a_retired_group_has_no_endpoints_until_it_is_restored() {
    let plane = Plane::start(TWO);
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    let retire = |force| {
        plane.run(Verb::Retire {
            group: name("bbb"),
            force,
        })
    };
    let error = retire(false).unwrap_err();
    assert!(error.to_string().contains("not drained"), "{error}");
    retire(true).unwrap();
    assert!(plane.control.groups().endpoints(&name("bbb")).is_empty());
    plane.run(Verb::Restore(name("bbb"))).unwrap();
    assert_eq!(plane.control.groups().endpoints(&name("bbb")).len(), 1);
    let rollout = plane.control.rollouts().current();
    assert_eq!(rollout.group(&name("bbb")).unwrap().id().generation(), 2);
}

#[test]
fn drained_is_never_answered_before_the_absolute_bound() {
    let plane = Plane::start(TWO);
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    let by = plane.control.cut_at(&name("bbb")).unwrap();
    assert_eq!(by, Timestamp::from_secs(START + 4 * 3600));
    plane.clock.advance(Duration::from_secs(4 * 3600));
    plane
        .run(Verb::Retire {
            group: name("bbb"),
            force: false,
        })
        .unwrap_err();
    plane.clock.advance(Duration::from_millis(1));
    plane
        .run(Verb::Retire {
            group: name("bbb"),
            force: false,
        })
        .unwrap();
}

#[test]
fn an_abort_needs_a_target_that_is_ready_unless_forced() {
    let plane = Plane::start(TWO);
    plane.control.groups().clear(&name("aaa"));
    let abort = |force| {
        plane.run(Verb::Abort {
            group: name("bbb"),
            to: None,
            policy: None,
            within: None,
            force,
        })
    };
    let error = abort(false).unwrap_err();
    assert!(error.to_string().contains("no ready endpoint"), "{error}");
    let ControlError::Refused(refusal) = &error else {
        panic!("{error}")
    };
    assert!(refusal.can_be_forced());
    abort(true).unwrap();
}

#[test]
fn a_lock_refuses_verbs_and_edits_survives_a_restart_and_lets_an_abort_through() {
    let plane = Plane::start(TWO);
    plane.run(Verb::Lock).unwrap();
    let before = plane.control.rollouts().current();
    let edit = TWO.replace("weight = 10", "weight = 20");
    for error in [
        plane.run(Verb::Drain(name("bbb"))).unwrap_err(),
        plane.weights(&[("bbb", 5)]).unwrap_err(),
        plane.apply(&edit).unwrap_err(),
        plane
            .apply(&format!("{TWO}[[group]]\nname = \"ccc\"\nstate = \"staged\"\nendpoints = [\"127.0.0.1:7003\"]\n"))
            .unwrap_err(),
    ] {
        assert!(error.to_string().contains("unlock it first"), "{error}");
    }
    assert_eq!(*plane.control.rollouts().current(), *before);

    let settings = settings(TWO, plane.directory.path());
    let restarted = open(&settings, &plane.clock).unwrap();
    assert!(restarted.rollouts().current().is_locked());

    plane
        .run(Verb::Abort {
            group: name("bbb"),
            to: None,
            policy: None,
            within: None,
            force: true,
        })
        .unwrap();
    plane.run(Verb::Unlock).unwrap();
    plane.run(Verb::Restore(name("bbb"))).unwrap();
}

fn abort(group: &str, within: Option<Duration>) -> Verb {
    Verb::Abort {
        group: name(group),
        to: None,
        policy: None,
        within,
        force: false,
    }
}

#[test]
fn an_abort_is_made_even_if_it_cannot_be_kept() {
    let plane = Plane::start(TWO);
    let in_the_way = plane.directory.path().join("gateway-state.new");
    std::fs::create_dir(&in_the_way).unwrap();
    let changed = plane.run(abort("bbb", None)).unwrap();
    assert_eq!(changed.held, Held::Nowhere);
    assert_eq!(plane.shown()[1].1, "aborted");
    plane.weights(&[("aaa", 7)]).unwrap_err();
    std::fs::remove_dir(&in_the_way).unwrap();
    let changed = plane.weights(&[("aaa", 7)]).unwrap();
    assert_eq!(changed.held, Held::All);
    let again = open(&settings(TWO, plane.directory.path()), &plane.clock).unwrap();
    let rollout = again.rollouts().current();
    assert_eq!(
        rollout.group(&name("bbb")).unwrap().state().name(),
        "aborted"
    );
}

#[test]
fn a_deadline_needs_sessions_that_stay() {
    let plane = Plane::start(TWO);
    let error = plane
        .run(abort("bbb", Some(Duration::from_secs(60))))
        .unwrap_err();
    assert!(error.to_string().contains("stay"), "{error}");
    assert_eq!(plane.shown()[1].1, "active");
}

#[test]
fn an_endpoint_belongs_to_one_group() {
    let plane = Plane::start(TWO);
    let register = |group: &str, port: u16| {
        let endpoints = vec![std::net::SocketAddr::from(([127, 0, 0, 1], port))];
        plane.run(Verb::Register {
            group: name(group),
            endpoints,
            weight: Weight::ZERO,
            compatible_with: None,
        })
    };
    let error = register("ccc", 7001).unwrap_err();
    assert!(
        error.to_string().contains("endpoint of group aaa"),
        "{error}"
    );
    assert!(plane.control.groups().endpoints(&name("ccc")).is_empty());
    register("ccc", 7003).unwrap();
    let edited = TWO.replace("7002", "7003");
    let error = plane.apply(&edited).unwrap_err();
    assert!(
        error.to_string().contains("7003 is an endpoint of group"),
        "{error}"
    );
}

#[test]
fn sessions_are_sent_to_no_group_that_its_checks_call_dead() {
    let plane = Plane::start(TWO);
    let groups = plane.control.groups();
    for (group, port) in [("aaa", 7001), ("bbb", 7002)] {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        groups.report(
            &name(group),
            address,
            Source::Health,
            EndpointState::Unhealthy,
        );
    }
    // the balancer doubts checks that fail everywhere and tries all the same
    let error = plane.run(abort("bbb", None)).unwrap_err();
    assert!(error.to_string().contains("no ready endpoint"), "{error}");
}
