//! Groups without a ready endpoint: waited for, then left.

use tower_affinity::core::{Clock, OnGone};
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity_testing::{ScriptedReadiness, name};

use crate::support::Site;

/// A site whose group B has been down since just now, and a pin to it.
fn down(on_gone: OnGone) -> (Site, ScriptedReadiness, String) {
    let view = ScriptedReadiness::default();
    let scope = Scope::new(PathPattern::all()).on_gone(on_gone);
    let site = Site::with(|builder| builder.readiness(view.clone()).scope(scope));
    view.down(name("B"), site.clock.now());
    let token = site.token("B");
    (site, view, token)
}

#[test]
fn a_session_stays_for_the_grace_of_its_group_and_moves_once_after_it() {
    let (site, view, token) = down(OnGone::Move);
    site.advance(9);
    assert_eq!(
        site.get_with(&token).said(),
        "pinned/ok@B",
        "moved within the grace"
    );
    assert_eq!(
        site.get(&[]).said(),
        "assigned/new@A",
        "drawn to a group that is not ready"
    );
    site.advance(1);
    let seen = site.get_with(&token);
    assert_eq!(seen.said(), "moved/group_down@A");
    let moved = seen.cookie().expect("the moved pin");
    view.up(&name("B"));
    assert_eq!(site.get_with(&moved).said(), "pinned/ok@A", "led back");
    assert_eq!(site.get_with(&token).said(), "pinned/ok@B");
}

#[test]
fn a_strict_scope_waits_for_its_group() {
    let (site, _, token) = down(OnGone::Strict);
    site.advance(3_600 / 4);
    let seen = site.get_with(&token);
    assert_eq!(seen.affinity().decision().kind.as_str(), "pinned");
    assert_eq!(seen.affinity().group(), "B");
}

#[test]
fn when_more_than_half_of_the_groups_are_down_it_is_us_and_nobody_moves() {
    let (site, view, token) = down(OnGone::Move);
    view.down(name("A"), site.clock.now());
    site.advance(60);
    assert_eq!(site.get_with(&token).said(), "pinned/ok@B");
    assert_eq!(site.get(&[]).said(), "refused/no_ready@none");
}
