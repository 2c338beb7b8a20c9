//! Weights draw new sessions and leave the others alone.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use tower_affinity::core::{AbortRequest, AlwaysReady, Clock, GroupName, OnStep, Weight};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity_testing::{HandClock, name, rollout, weight};

use crate::support::{Browser, K1, Seen, Site};

fn site(shares: &[(&str, u64)]) -> Site {
    let clock = HandClock::at(Site::new().clock.now());
    Site::of(clock, rollout(10, shares), K1, |builder| builder)
}

pub(crate) fn weigh(site: &Site, shares: &[(&str, u64)]) {
    let weights: BTreeMap<GroupName, Weight> = shares
        .iter()
        .map(|(group, share)| (name(group), weight(*share)))
        .collect();
    site.change(|rollout, change| rollout.weights(&weights, change));
}

/// The groups of `count` new sessions.
fn draws(site: &Site, count: u32) -> HashMap<String, u32> {
    let mut groups = HashMap::new();
    for _ in 0..count {
        *groups
            .entry(site.get(&[]).affinity().group().to_owned())
            .or_default() += 1;
    }
    groups
}

/// Holds shares against weights within 3.3 sigma; 0 is exactly 0.
fn has_shares(site: &Site, count: u32) {
    let drawn = draws(site, count);
    let rollout = site.rollouts.current();
    let sum: f64 = rollout
        .groups()
        .iter()
        .map(|g| f64::from(g.weight().get()))
        .sum();
    for group in rollout.groups() {
        let share = f64::from(group.weight().get()) / sum;
        let got = drawn.get(group.name().as_str()).copied().unwrap_or(0);
        let off = (f64::from(got) - share * f64::from(count)).abs();
        // ten comparisons in this file: 4 sigma, so that one of 1,500 runs fails
        let bound = 4.0 * (f64::from(count) * share * (1.0 - share)).sqrt();
        assert!(
            off <= bound,
            "{}: {got} of {count}, share {share}",
            group.name()
        );
    }
}

/// C017, C112 (all new sessions to the new group, the old ones stay).
#[test]
fn c017_weight_0_and_draining_keep_their_sessions_and_get_no_new_one() {
    let site = site(&[("B", 50), ("A", 50)]);
    let token = site.token("A");
    weigh(&site, &[("A", 0), ("B", 100)]);
    assert_eq!(
        site.get_with(&token).said(),
        "pinned/ok@A",
        "weight 0 never means gone"
    );
    assert_eq!(
        draws(&site, 1_000),
        HashMap::from([("B".to_owned(), 1_000)])
    );
    site.change(|rollout, change| rollout.drain(&name("A"), change));
    assert_eq!(site.get_with(&token).said(), "pinned/draining@A");
    assert_eq!(
        draws(&site, 1_000),
        HashMap::from([("B".to_owned(), 1_000)])
    );
}

/// C068, C097.
#[test]
fn c068_sessions_stay_while_the_weights_go_from_70_30_to_0_100_and_back() {
    let site = site(&[("A", 70), ("B", 30)]);
    let mut browsers = vec![Browser::default(); 60];
    let start: Vec<String> = browsers
        .iter_mut()
        .map(|b| b.get(&site).affinity().group().to_owned())
        .collect();
    for shares in [
        [("A", 0), ("B", 100)],
        [("A", 100), ("B", 0)],
        [("A", 1), ("B", 1)],
    ] {
        weigh(&site, &shares);
        for (browser, group) in browsers.iter_mut().zip(&start) {
            assert_eq!(browser.get(&site).said(), format!("pinned/ok@{group}"));
        }
    }
}

/// C018.
#[test]
fn c018_after_a_hundred_changes_new_sessions_follow_the_last_weights() {
    let site = site(&[("A", 1), ("B", 1), ("C", 1)]);
    for change in 0..100_u64 {
        weigh(
            &site,
            &[
                ("A", change * 7 % 11),
                ("B", 1 + change % 3),
                ("C", change * change % 13),
            ],
        );
        let revision = site.revision();
        let same: BTreeMap<GroupName, Weight> = site
            .rollouts
            .current()
            .groups()
            .iter()
            .map(|g| (g.name().clone(), g.weight()))
            .collect();
        site.change(|rollout, change| rollout.weights(&same, change));
        assert_eq!(
            site.revision(),
            revision,
            "a change that changes nothing has a revision"
        );
    }
    has_shares(&site, 5_000);
}

/// C086.
#[test]
fn c086_99_to_1_is_99_to_1() {
    has_shares(&site(&[("A", 99), ("B", 1)]), 4_000);
}

/// C033, C120: a pin names a commit and no role.
#[test]
fn c033_sessions_of_the_last_canary_stay_there_when_it_is_promoted_and_the_next_begins() {
    let site = site(&[("A", 90), ("B", 10)]);
    let token = site.token("B");
    site.change(|rollout, change| rollout.promote(&name("B"), change));
    assert_eq!(site.get_with(&token).said(), "pinned/ok@B");
    site.change(|rollout, change| rollout.register(&name("C"), weight(0), change));
    weigh(&site, &[("B", 95), ("C", 5)]);
    for _ in 0..50 {
        assert_eq!(site.get_with(&token).said(), "pinned/ok@B");
    }
    has_shares(&site, 5_000);
}

/// C104: taking traffic away from a group never waits for its health.
#[test]
fn c104_an_unhealthy_group_does_not_keep_its_weight() {
    let view = tower_affinity_testing::ScriptedReadiness::default();
    let site = Site::with(|builder| builder.readiness(view.clone()));
    view.down(name("A"), site.clock.now());
    weigh(&site, &[("A", 0), ("B", 100)]);
    assert_eq!(draws(&site, 100), HashMap::from([("B".to_owned(), 100)]));
}

/// C041: what happens to other groups is nobody's business.
#[test]
fn c041_registering_and_retiring_other_groups_moves_nobody() {
    let site = site(&[("A", 50), ("B", 50)]);
    let mut browsers = vec![Browser::default(); 40];
    let start: Vec<_> = browsers
        .iter_mut()
        .map(|b| b.get(&site).affinity().group().to_owned())
        .collect();
    for round in 0..10 {
        let other = name(&format!("other-{round}"));
        site.change(|rollout, change| rollout.register(&other, weight(0), change));
        site.change(|rollout, change| rollout.retire(&other, None, true, change));
    }
    for (browser, group) in browsers.iter_mut().zip(&start) {
        assert_eq!(browser.get(&site).said(), format!("pinned/ok@{group}"));
    }
}

#[derive(Clone, Debug)]
enum Verb {
    Weigh(usize, u64),
    Drain(usize),
    Promote(usize),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// I1, I5, C035 (`keep`): no verb but abort moves a session, however often it is used.
    #[test]
    fn c035_weights_drains_and_promotions_move_no_session(
        verbs in proptest::collection::vec(
            prop_oneof![
                (0..3_usize, 0..101_u64).prop_map(|(group, share)| Verb::Weigh(group, share)),
                (0..3_usize).prop_map(Verb::Drain),
                (0..3_usize).prop_map(Verb::Promote),
            ],
            1..12,
        ),
    ) {
        let site = site(&[("A", 40), ("B", 30), ("C", 30)]);
        let mut browsers = vec![Browser::default(); 3];
        let start: Vec<_> = browsers
            .iter_mut()
            .map(|browser| browser.get(&site).affinity().clone())
            .collect();
        for verb in verbs {
            let group = |nth: usize| name(["A", "B", "C"][nth]);
            let now = site.clock.now();
            // what a rule refuses changes nothing
            let _ = site.rollouts.update(|rollout| {
                let change = tower_affinity_testing::after(rollout, now);
                match verb {
                    Verb::Weigh(nth, share) => {
                        rollout.weights(&[(group(nth), weight(share))].into_iter().collect(), change)
                    }
                    Verb::Drain(nth) => rollout.drain(&group(nth), change),
                    Verb::Promote(nth) => rollout.promote(&group(nth), change),
                }
            });
            site.advance(300);
            for (browser, first) in browsers.iter_mut().zip(&start) {
                let seen = browser.get(&site);
                prop_assert_eq!(seen.affinity().decision().kind.as_str(), "pinned");
                prop_assert_eq!(seen.affinity().group(), first.group());
                prop_assert_eq!(seen.affinity().session(), first.session());
            }
        }
    }
}

/// Half of a new weight's keys do not come from thin air: one weight moves keys only to its group.
#[test]
fn raising_one_weight_draws_keys_only_to_that_group() {
    let scope = || {
        let user = "x-user".parse().unwrap();
        Scope::new(PathPattern::all()).assign(AssignBy::Header(user))
    };
    let clock = HandClock::at(Site::new().clock.now());
    let shares = [("A", 50), ("B", 30), ("C", 10)];
    let site = Site::of(clock, rollout(10, &shares), K1, |builder| {
        builder.scope(scope())
    });
    let group = |user: u32| {
        let user = user.to_string();
        site.get(&[("x-user", &user)]).affinity().group().to_owned()
    };
    let before: Vec<String> = (0..1_500).map(group).collect();
    weigh(&site, &[("C", 40)]);
    let mut moved = 0;
    for (user, before) in (0..1_500).zip(&before) {
        let after = group(user);
        if after != *before {
            assert_eq!(after, "C", "user {user} went from {before} to {after}");
            moved += 1;
        }
    }
    // C's share goes from a ninth to a third: two ninths of 1,500 move
    assert!((260..=410).contains(&moved), "{moved} moved");
    let aborted = AbortRequest::default();
    site.change(|rollout, change| rollout.abort(&name("C"), &aborted, &AlwaysReady, change));
    assert!((0..200).all(|user| group(user) != "C"));
}

/// C035 (`reassign`).
#[test]
fn c035_a_scope_that_reassigns_draws_each_session_anew_once() {
    let reassigns = Scope::new("/trial/*".parse().unwrap()).on_step(OnStep::Reassign);
    let site = Site::with(|builder| {
        let rest = Scope::new(PathPattern::all());
        builder.scope(reassigns).scope(rest)
    });
    let mut browsers: Vec<Browser> = (0..300).map(|_| Browser::default()).collect();
    let group = |seen: &Seen| seen.affinity().group().to_owned();
    let before: Vec<String> = browsers.iter_mut().map(|b| group(&b.get(&site))).collect();
    weigh(&site, &[("A", 60), ("B", 40)]);
    let mut moved = 0;
    for (browser, old) in browsers.iter_mut().zip(&before) {
        let kept = browser.get(&site);
        assert_eq!(group(&kept), *old, "another scope keeps");
        let first = browser.ask(&site, "GET", "/trial/", &[]);
        let (said, pin) = (first.said(), site.open(&first.cookie().expect("a new pin")));
        assert_eq!((pin.assigned, pin.placed), (site.revision(), false));
        let stays = said == format!("pinned/ok@{old}");
        assert!(
            stays || (old == "A" && said == "moved/step@B"),
            "{old}: {said}"
        );
        moved += usize::from(!stays);
        let told = first
            .affinity()
            .moved_from()
            .map(|last| last.cause.as_str().to_owned());
        assert_eq!(told.as_deref(), (!stays).then_some("step"));
        for path in ["/trial/", "/"] {
            let later = browser.ask(&site, "GET", path, &[]);
            assert_eq!((group(&later), later.is_silent()), (group(&first), true));
        }
    }
    // a third of A's 270 sessions, with a standard deviation of 8
    assert!((60..=125).contains(&moved), "{moved} of 300 moved");
}
