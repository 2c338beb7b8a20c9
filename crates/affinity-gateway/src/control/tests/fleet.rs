//! What replicas say of themselves, and what they conclude together.

use tower_affinity::core::{Left, ProblemKind};
use tower_affinity::record::Recorder;
use tower_affinity_testing::engine::{Fault, MemoryEngine};
use tower_affinity_testing::id;

use super::sharing::{Replica, THREE};
use super::*;

const ADMIN: &str = "http://127.0.0.1:9090";
const TA: u64 = 4 * 3600;
/// Twice the skew that is allowed between replicas.
const APART: u64 = 600;

async fn fleet(count: usize) -> (MemoryEngine, Vec<Replica>) {
    let engine = MemoryEngine::new();
    let mut replicas = Vec::new();
    for _ in 0..count {
        replicas.push(Replica::join(&engine).await);
    }
    settle(&replicas).await;
    (engine, replicas)
}

/// The first hours are over: what may have been issued before them is not valid.
async fn settle(replicas: &[Replica]) {
    advance(replicas, TA + 1);
    speak(replicas).await;
}

/// Every replica takes the state, speaks, and hears what the others said.
async fn speak(replicas: &[Replica]) {
    for _ in 0..2 {
        for replica in replicas {
            replica.sync().await;
            let member = replica.member();
            member
                .speak_and_listen(&Recorder::default(), ADMIN)
                .await
                .unwrap();
        }
    }
}

fn advance(replicas: &[Replica], secs: u64) {
    for replica in replicas {
        replica.clock.advance(Duration::from_secs(secs));
    }
}

fn left(replica: &Replica) -> Left {
    let rollout = replica.control.rollouts().current();
    replica.control.left(rollout.group(&name("bbb")).unwrap())
}

async fn drain(replicas: &[Replica]) {
    replicas[0].run(Verb::Drain(name("bbb"))).await.unwrap();
}

#[tokio::test]
async fn a_group_is_drained_when_every_replica_has_said_so() {
    let (_, replicas) = fleet(3).await;
    drain(&replicas).await;
    let waits = left(&replicas[0]);
    for other in &replicas[1..] {
        let name = other.control.replica();
        assert!(
            waits.waits_for.contains(&name),
            "{name} has not accepted it: {waits:?}"
        );
    }
    assert_eq!(waits.by, None);
    // the latest pin is at a replica that was not asked
    let expires = replicas[1].control.now().plus(Duration::from_secs(60));
    replicas[1].control.expiries().note(&id("bbb"), expires);
    speak(&replicas).await;
    let known = left(&replicas[0]);
    assert_eq!((known.last_expiry, known.drained), (Some(expires), false));
    advance(&replicas, 60);
    assert!(
        !left(&replicas[0]).drained,
        "the pin is valid for this moment"
    );
    advance(&replicas, 1);
    speak(&replicas).await;
    for replica in &replicas {
        assert!(left(replica).drained, "{:?}", left(replica));
    }
    let retired = replicas[2]
        .run(Verb::Retire {
            group: name("bbb"),
            force: false,
        })
        .await;
    retired.unwrap();
}

#[tokio::test]
async fn the_retirement_of_a_group_that_others_may_serve_names_them() {
    let (_, replicas) = fleet(2).await;
    drain(&replicas).await;
    let refused = replicas[0]
        .run(Verb::Retire {
            group: name("bbb"),
            force: false,
        })
        .await;
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains(&replicas[1].control.replica()),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_replica_is_waited_for_until_it_is_forgotten() {
    let (_, mut replicas) = fleet(2).await;
    let gone = replicas.pop().unwrap();
    let name_of_gone = gone.control.replica();
    drain(&replicas).await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    advance(&replicas, 2 * TA);
    speak(&replicas).await;
    let waits_for = left(&replicas[0]).waits_for;
    assert_eq!(waits_for, std::slice::from_ref(&name_of_gone));
    assert!(replicas[0].member().forget(&name_of_gone).await.unwrap());
    assert!(left(&replicas[0]).drained, "{:?}", left(&replicas[0]));
    assert!(
        !replicas[0].member().forget(&name_of_gone).await.unwrap(),
        "it is forgotten"
    );
}

#[tokio::test]
async fn one_that_left_is_forgotten_when_none_of_its_pins_can_be_valid() {
    let (_, mut replicas) = fleet(2).await;
    let leaves = replicas.pop().unwrap();
    let word = Recorder::default();
    leaves.member().depart(&word, ADMIN).await.unwrap();
    advance(&replicas, TA);
    speak(&replicas).await;
    assert_eq!(replicas[0].control.announced().len(), 2);
    advance(&replicas, 1);
    speak(&replicas).await;
    assert_eq!(replicas[0].control.announced().len(), 1);
}

#[tokio::test]
async fn a_replica_that_left_in_good_order_is_not_waited_for() {
    let (_, mut replicas) = fleet(2).await;
    drain(&replicas).await;
    speak(&replicas).await;
    let leaves = replicas.pop().unwrap();
    let expires = leaves.control.now().plus(Duration::from_secs(60));
    leaves.control.expiries().note(&id("bbb"), expires);
    leaves
        .member()
        .depart(&Recorder::default(), ADMIN)
        .await
        .unwrap();
    advance(&replicas, 60);
    speak(&replicas).await;
    assert!(
        !left(&replicas[0]).drained,
        "its last pin is valid for this moment"
    );
    advance(&replicas, 1);
    assert!(left(&replicas[0]).drained, "{:?}", left(&replicas[0]));
}

#[tokio::test]
async fn a_replica_that_crashed_may_have_issued_a_pin_in_its_last_moment() {
    let (_, mut replicas) = fleet(2).await;
    let crashed = replicas.pop().unwrap();
    drain(&replicas).await;
    let started = crashed.control.now();
    let again = crashed.restart(THREE).await;
    again.sync().await;
    let member = again.member();
    member
        .speak_and_listen(&Recorder::default(), ADMIN)
        .await
        .unwrap();
    replicas.push(again);
    speak(&replicas).await;
    let bound = started.plus(Duration::from_secs(TA));
    let last = left(&replicas[0]).last_expiry;
    assert!(last >= Some(bound), "{last:?} is before {bound:?}");
}

#[tokio::test]
async fn a_replica_with_another_key_is_not_fit_and_the_others_are() {
    let (engine, replicas) = fleet(2).await;
    let directory = tempfile::tempdir().unwrap();
    let keys = "service = \"checkout\"\n[pin]\nkeys = [\"k2:env:K2\"]\n";
    let stranger = Replica::keyed(engine.link(), keys, directory).await;
    assert!(!stranger.control.is_fit(), "it has heard nobody yet");
    stranger
        .member()
        .speak_and_listen(&Recorder::default(), ADMIN)
        .await
        .unwrap();
    assert!(!stranger.control.is_fit());
    let problems = stranger.control.problems();
    let lacks =
        |kind: &ProblemKind| matches!(kind, ProblemKind::Lacks { key } if key.as_str() == "k1");
    assert!(
        problems.iter().any(|problem| lacks(&problem.kind)),
        "{problems:?}"
    );
    speak(&replicas).await;
    for replica in &replicas {
        assert!(replica.control.is_fit(), "{:?}", replica.control.problems());
    }
}

#[tokio::test]
async fn a_replica_whose_clock_is_far_off_is_not_fit() {
    let (_, replicas) = fleet(3).await;
    replicas[2].clock.advance(Duration::from_secs(3600));
    speak(&replicas).await;
    let fit: Vec<_> = replicas
        .iter()
        .map(|replica| replica.control.is_fit())
        .collect();
    assert_eq!(fit, [true, true, false]);
}

#[tokio::test]
async fn without_the_engine_a_replica_serves_what_it_accepted_last() {
    let (engine, mut replicas) = fleet(2).await;
    let one = replicas.remove(0);
    engine.all_suffer(Fault::OutOfReach);
    let one = one.restart(THREE).await;
    assert!(one.control.is_fit());
    engine.all_suffer(None);
    one.sync().await;
    assert!(
        !one.control.is_fit(),
        "it can hear the others now, and has not"
    );
    one.member()
        .speak_and_listen(&Recorder::default(), ADMIN)
        .await
        .unwrap();
    assert!(one.control.is_fit());
}

#[tokio::test]
async fn the_skew_between_replicas_delays_the_end_by_twice_as_much() {
    let engine = MemoryEngine::new();
    let head = "service = \"checkout\"\n[pin]\nclock_skew = \"5m\"\nkeys = [\"k1:env:K1\"]\n";
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let directory = tempfile::tempdir().unwrap();
        replicas.push(Replica::keyed(engine.link(), head, directory).await);
    }
    settle(&replicas).await;
    drain(&replicas).await;
    speak(&replicas).await;
    let expires = replicas[1].control.now().plus(Duration::from_secs(60));
    replicas[1].control.expiries().note(&id("bbb"), expires);
    advance(&replicas, 60 + APART);
    speak(&replicas).await;
    assert!(!left(&replicas[0]).drained);
    advance(&replicas, 1);
    speak(&replicas).await;
    assert!(left(&replicas[0]).drained, "{:?}", left(&replicas[0]));
}

#[tokio::test]
async fn a_replica_is_understood_after_an_aborted_group_was_retired() {
    let (_, replicas) = fleet(2).await;
    let abort = Verb::Abort {
        group: name("ccc"),
        to: None,
        policy: None,
        within: None,
        force: true,
    };
    replicas[0].run(abort).await.unwrap();
    let retire = Verb::Retire {
        group: name("ccc"),
        force: false,
    };
    replicas[0].run(retire).await.unwrap();
    drain(&replicas).await;
    speak(&replicas).await;
    advance(&replicas, APART + 1);
    speak(&replicas).await;
    let told = left(&replicas[0]);
    assert!(told.drained, "{told:?}");
}
