//! Two replicas with one keyring and their own rollouts, one of them behind.

use proptest::prelude::*;
use tower_affinity::core::{Clock, MoveCause, Revision};
use tower_affinity_testing::{HandClock, name, rollout};

use crate::support::{COOKIE_NAME, K1, OnItsWay, Site, TI, ask};

fn replica(clock: &HandClock, revision: u64, shares: &[(&str, u64)]) -> Site {
    Site::of(clock.clone(), rollout(revision, shares), K1, |builder| {
        builder
    })
}

fn pair() -> [Site; 2] {
    let clock = Site::new().clock;
    [(); 2].map(|()| replica(&clock, 10, &[("A", 90), ("B", 10)]))
}

/// A client that keeps the newest of its pins, however late an answer arrives.
#[derive(Default)]
struct Client {
    token: Option<String>,
}

impl Client {
    fn start(&mut self, site: &Site) -> OnItsWay {
        self.token = self
            .token
            .take()
            .filter(|token| site.clock.now() < site.open(token).expires);
        let cookie = self
            .token
            .as_ref()
            .map(|token| format!("{COOKIE_NAME}={token}"));
        let headers: Vec<_> = cookie
            .iter()
            .map(|cookie| ("cookie", cookie.as_str()))
            .collect();
        site.start(ask("GET", "/", &headers))
    }

    fn take(&mut self, site: &Site, token: Option<String>) {
        let newest = |token: &String| {
            let pin = site.open(token);
            (pin.revision, pin.moves, pin.issued)
        };
        self.token = self
            .token
            .take()
            .into_iter()
            .chain(token)
            .max_by_key(newest);
    }
}

#[test]
fn a_replica_behind_obeys_a_pin_to_a_group_that_it_knows_and_then_is_not_behind() {
    let [ahead, behind] = pair();
    ahead.change(|rollout, change| rollout.drain(&name("B"), change));
    let token = ahead.token("B");
    assert_eq!(ahead.revision(), Revision(11));
    assert_eq!(behind.get_with(&token).said(), "pinned/behind@B");
    assert_eq!(
        behind.revision(),
        Revision(11),
        "nothing newer exists here, so it is raised"
    );
    assert_eq!(behind.get_with(&token).said(), "pinned/ok@B");
}

#[test]
fn a_pin_that_is_newer_than_the_replica_is_renewed_in_its_times_only() {
    let [ahead, behind] = pair();
    ahead.change(|rollout, change| rollout.drain(&name("B"), change));
    let before = ahead.pin("B");
    let group = ahead.pin("A").group.known().unwrap().clone();
    let moved = before.moved(
        group,
        MoveCause::Gone,
        ahead.revision(),
        before.issued,
        Default::default(),
    );
    let token = ahead.seal(&moved);
    ahead.advance(TI / 2);
    // not even the application's word changes more of it
    behind.app.says(200, &[("affinity-session", "moved-seen")]);
    let seen = behind.get_with(&token);
    assert_eq!(seen.said(), "pinned/behind@A");
    let renewed = behind.open(&seen.cookie().expect("a renewal"));
    assert!(renewed.issued > moved.issued && renewed.expires > moved.expires);
    let same_times = tower_affinity::core::SessionPin {
        issued: moved.issued,
        expires: moved.expires,
        ..renewed
    };
    assert_eq!(same_times, moved);
    let seen = behind.get_with(&token);
    assert_eq!(
        behind.open(&seen.cookie().unwrap()).last_move,
        None,
        "not behind any more"
    );
}

/// C070: with no other source than itself a replica has its proof at once, and does not wait.
#[test]
fn c070_an_unknown_group_in_a_newer_pin_raises_the_revision_and_moves_the_session() {
    let clock = Site::new().clock;
    let ahead = replica(&clock, 20, &[("A", 50), ("C", 50)]);
    let behind = replica(&clock, 10, &[("A", 90), ("B", 10)]);
    let seen = behind.get_with(&ahead.token("C"));
    assert_eq!(
        seen.affinity().decision().cause.as_str(),
        "gone",
        "{}",
        seen.said()
    );
    assert_eq!(seen.affinity().decision().kind.as_str(), "moved");
    assert_eq!(behind.revision(), Revision(20));
    let pin = behind.open(&seen.cookie().expect("the moved pin"));
    assert_eq!((pin.revision, pin.moves), (Revision(20), 1));
    assert_eq!(pin.last_move.expect("the move").from.label(), "unknown");
    assert_eq!(
        seen.affinity().moved_from().unwrap().from.label(),
        "unknown"
    );
}

#[test]
fn a_group_that_a_replica_knows_to_be_aborted_is_not_served_whatever_the_pins_revision() {
    let [one, two] = pair();
    for _ in 0..5 {
        one.change(|rollout, change| rollout.raised(change.revision).drain(&name("B"), change));
        one.change(|rollout, change| {
            let weights = [(name("B"), tower_affinity_testing::weight(10))];
            rollout.weights(&weights.into_iter().collect(), change)
        });
    }
    two.abort("B");
    assert!(one.revision() > two.revision());
    let seen = two.get_with(&one.token("B"));
    assert_eq!(seen.said(), "moved/aborted@A");
    let pin = two.open(&seen.cookie().unwrap());
    assert_eq!(pin.revision, one.revision(), "the greater of both");
}

/// C058, SEC-56.
#[test]
fn c058_clocks_five_minutes_apart_move_nobody_and_a_pin_from_further_ahead_is_none() {
    let [one, two] = pair();
    let two = Site::of(HandClock::at(two.clock.now()), two.rollouts, K1, |b| b);
    one.advance(300);
    let token = one.token("B");
    assert_eq!(
        two.get_with(&token).said(),
        "pinned/ok@B",
        "an age below 0 counts as 0"
    );
    assert_eq!(one.get_with(&two.token("B")).said(), "pinned/ok@B");
    one.advance(1);
    let seen = two.get_with(&one.token("B"));
    assert!(
        seen.said().starts_with("assigned/from_future@"),
        "{}",
        seen.said()
    );
}

#[derive(Clone, Debug)]
enum Step {
    Send { client: usize, replica: usize },
    Arrive(usize),
    Wait(u16),
    Weigh { replica: usize, b: u64 },
    Abort(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_usize, 0..2_usize)
            .prop_map(|(client, replica)| Step::Send { client, replica }),
        6 => (0..6_usize).prop_map(Step::Arrive),
        2 => (0..600_u16).prop_map(Step::Wait),
        2 => (0..2_usize, 1..90_u64).prop_map(|(replica, b)| Step::Weigh { replica, b }),
        1 => (0..2_usize).prop_map(Step::Abort),
    ]
}

proptest! {
    /// I2, I3: one abort, of which the replicas hear in any order and at any time.
    #[test]
    fn an_abort_moves_a_session_once_over_two_replicas(
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let replicas = pair();
        let mut knows = [false; 2];
        let mut clients = [(); 3].map(|()| Client::default());
        let mut on_their_way = Vec::<(usize, usize, bool, OnItsWay)>::new();
        for step in steps {
            match step {
                Step::Send { client, replica } => {
                    let slow = clients[client].start(&replicas[replica]);
                    let token = clients[client].token.as_ref();
                    let moved = token.is_some_and(|token| replicas[0].open(token).moves > 0);
                    let group = slow.group().expect("a request that is served");
                    prop_assert!(!knows[replica] || group != "B", "B answers after its abort");
                    on_their_way.push((client, replica, moved, slow));
                }
                Step::Arrive(nth) if nth < on_their_way.len() => {
                    let (client, replica, moved, slow) = on_their_way.swap_remove(nth);
                    let seen = slow.arrive();
                    let said = seen.said();
                    prop_assert!(
                        !moved || !said.starts_with("moved"),
                        "{said} by a client that holds the moved pin"
                    );
                    // a first pin of a parallel request would begin another session of the client
                    if clients[client].token.is_none() || !said.starts_with("assigned") {
                        clients[client].take(&replicas[replica], seen.cookie());
                    }
                }
                Step::Arrive(_) => {}
                Step::Wait(secs) => replicas[0].advance(u64::from(secs)),
                Step::Weigh { replica, b } if !knows[replica] => {
                    replicas[replica].change(|rollout, change| {
                        let weights = [(name("B"), tower_affinity_testing::weight(b))];
                        rollout.weights(&weights.into_iter().collect(), change)
                    });
                }
                Step::Weigh { .. } => {}
                Step::Abort(replica) if !knows[replica] => {
                    replicas[replica].abort("B");
                    knows[replica] = true;
                }
                Step::Abort(_) => {}
            }
        }
    }
}
