//! Level `version`: a session whose commit is gone goes to one that declares itself able to.

use tower_affinity::core::{Level, OnGone};
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity_testing::{ScriptedReadiness, name, weight};

use crate::support::{Site, TI};

fn site(on_gone: OnGone, ready: &ScriptedReadiness) -> Site {
    let scope = Scope::new(PathPattern::all()).level(Level::Version);
    let site = Site::with(|builder| {
        builder
            .scope(scope.on_gone(on_gone))
            .readiness(ready.clone())
    });
    // C has no weight, but can read what B has written
    site.change(|rollout, change| rollout.register(&name("C"), weight(1), change));
    site.change(|rollout, change| rollout.weights(&[(name("C"), weight(0))].into(), change));
    site.change(|rollout, change| rollout.declare(&name("C"), &[name("B")], change));
    site
}

#[test]
fn a_session_of_a_retired_commit_is_moved_once_to_the_one_that_can_read_it() {
    for on_gone in [OnGone::Move, OnGone::Strict] {
        let site = site(on_gone, &ScriptedReadiness::default());
        let token = site.token("B");
        assert_eq!(site.get_with(&token).said(), "pinned/ok@B");
        site.change(|rollout, change| rollout.drain(&name("B"), change));
        assert_eq!(site.get_with(&token).said(), "pinned/draining@B");
        site.change(|rollout, change| rollout.retire(&name("B"), None, true, change));
        let seen = site.get_with(&token);
        assert_eq!(seen.said(), "moved/compatible@C", "{on_gone:?}");
        let last = seen.affinity().moved_from().unwrap().clone();
        assert_eq!(
            (last.from.label(), last.cause.as_str()),
            ("B", "compatible")
        );
        let moved = seen.cookie().expect("a pin");
        assert_eq!(site.get_with(&moved).said(), "pinned/ok@C");
        site.advance(TI / 2);
        let renewed = site.get_with(&moved).cookie().expect("a renewed pin");
        let told = site.open(&renewed).last_move.unwrap();
        assert_eq!(told.cause.as_str(), "compatible", "told until it is seen");
    }
}

#[test]
fn a_session_that_nobody_can_read_falls_to_what_level_group_does() {
    let site = site(OnGone::Move, &ScriptedReadiness::default());
    let token = site.token("B");
    site.change(|rollout, change| rollout.declare(&name("C"), &[], change));
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    site.change(|rollout, change| rollout.retire(&name("B"), None, true, change));
    assert_eq!(site.get_with(&token).said(), "moved/gone@A");
}

#[test]
fn a_session_of_a_commit_without_endpoints_goes_to_the_one_that_can_read_it_after_the_grace() {
    let ready = ScriptedReadiness::default();
    let site = site(OnGone::Move, &ready);
    let token = site.token("B");
    ready.down(name("B"), site.pin("A").issued);
    assert_eq!(site.get_with(&token).said(), "pinned/ok@B");
    site.advance(10);
    assert_eq!(site.get_with(&token).said(), "moved/compatible@C");
    site.abort("B");
    assert_eq!(
        site.get_with(&token).said(),
        "moved/aborted@A",
        "an abort has its own target"
    );
}
