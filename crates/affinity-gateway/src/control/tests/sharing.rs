//! Replicas that share their state through an engine.

use tower_affinity::core::{
    AbortPolicy, Engine, Replaced, SharedState, Standing, State, Status, Stored, Version,
};
use tower_affinity_testing::engine::{Fault, MemoryEngine};

use super::*;
use crate::control::Member;

/// One replica with a directory of its own.
pub(super) struct Replica {
    pub(super) control: Control,
    engine: MemoryEngine,
    pub(super) clock: HandClock,
    directory: tempfile::TempDir,
}

impl Replica {
    pub(super) async fn join(engine: &MemoryEngine) -> Self {
        Self::with(engine.link(), THREE, tempfile::tempdir().unwrap()).await
    }

    async fn with(engine: MemoryEngine, groups: &str, directory: tempfile::TempDir) -> Self {
        let settings = settings(groups, directory.path());
        let clock = HandClock::at(Timestamp::from_secs(START));
        Self::begin(engine, &settings, clock, directory).await
    }

    /// With another head of the configuration than the other tests.
    pub(super) async fn keyed(
        engine: MemoryEngine,
        head: &str,
        directory: tempfile::TempDir,
    ) -> Self {
        let settings = with_keys(head, THREE, directory.path());
        let clock = HandClock::at(Timestamp::from_secs(START));
        Self::begin(engine, &settings, clock, directory).await
    }

    async fn begin(
        engine: MemoryEngine,
        settings: &Settings,
        clock: HandClock,
        directory: tempfile::TempDir,
    ) -> Self {
        let started = join(&engine, settings, &clock).await;
        Self {
            control: started.unwrap(),
            engine,
            clock,
            directory,
        }
    }

    /// The same replica after a restart, with other settings.
    pub(super) async fn restart(self, groups: &str) -> Self {
        drop(self.control);
        let settings = settings(groups, self.directory.path());
        Self::begin(self.engine, &settings, self.clock, self.directory).await
    }

    pub(super) fn member(&self) -> Member {
        self.control.member().expect("a shared state")
    }

    pub(super) async fn sync(&self) {
        self.member().sync().await.unwrap();
    }

    pub(super) async fn run(&self, verb: Verb) -> Result<Changed, ControlError> {
        self.run_if(None, verb).await
    }

    async fn run_if(
        &self,
        if_match: Option<Revision>,
        verb: Verb,
    ) -> Result<Changed, ControlError> {
        let request = Request {
            who: "a test".to_owned(),
            if_match,
            verb,
        };
        let control = self.control.clone();
        tokio::task::spawn_blocking(move || control.change(&request))
            .await
            .unwrap()
    }

    async fn abort(&self, group: &str, to: Option<&str>) -> Changed {
        self.run(abort(group, to)).await.unwrap()
    }

    fn revision(&self) -> Revision {
        self.control.rollouts().current().revision()
    }

    fn state(&self, group: &str) -> &'static str {
        let rollout = self.control.rollouts().current();
        rollout.group(&name(group)).unwrap().state().name()
    }

    fn target(&self, group: &str) -> String {
        match self
            .control
            .rollouts()
            .current()
            .group(&name(group))
            .unwrap()
            .state()
        {
            State::Aborted(abort) => abort.target.name().to_string(),
            other => panic!("{group} is {}", other.name()),
        }
    }

    fn standings(&self) -> Vec<(String, Standing)> {
        let facts = self.control.facts().into_iter();
        facts
            .map(|(fact, standing)| (fact.id.name().to_string(), standing))
            .collect()
    }
}

async fn join(
    engine: &MemoryEngine,
    settings: &Settings,
    clock: &HandClock,
) -> Result<Control, ControlError> {
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let groups = Groups::new(clock.clone());
    let started = Control::join(settings, groups, shared, Arc::new(engine.clone())).await?;
    Ok(started.control)
}

pub(super) const THREE: &str = r#"
[[group]]
name = "aaa"
weight = 80
stable = true
endpoints = ["127.0.0.1:7001"]
[[group]]
name = "bbb"
weight = 20
endpoints = ["127.0.0.1:7002"]
[[group]]
name = "ccc"
weight = 0
endpoints = ["127.0.0.1:7003"]
"#;

fn abort(group: &str, to: Option<&str>) -> Verb {
    Verb::Abort {
        group: name(group),
        to: to.map(name),
        policy: None,
        within: None,
        force: false,
    }
}

fn weights(group: &str, weight: u64) -> Verb {
    Verb::Weights(BTreeMap::from([(
        name(group),
        Weight::new(weight).unwrap(),
    )]))
}

fn shared(engine: &MemoryEngine) -> SharedState {
    let document = engine.stored().document.expect("a shared state");
    SharedState::from_document(&document, &"checkout".parse().unwrap()).unwrap()
}

#[tokio::test]
async fn the_first_replica_makes_the_state_and_the_others_find_it() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    assert_eq!(one.revision(), Revision(START), "made from nothing");
    one.run(weights("bbb", 50)).await.unwrap();
    let two = Replica::join(&engine).await;
    assert_eq!(two.revision(), Revision(START + 1));
    assert_eq!(
        two.control.rollouts().current(),
        one.control.rollouts().current(),
        "the configured weight overrides nothing"
    );
}

#[tokio::test]
async fn any_replica_changes_what_all_replicas_obey() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let changed = two.run(Verb::Drain(name("bbb"))).await.unwrap();
    assert_eq!(changed.held, Held::All);
    assert_eq!(one.state("bbb"), "active");
    one.sync().await;
    assert_eq!(one.state("bbb"), "draining");
    // a change is decided on the newest state, whatever this replica has seen
    two.run(weights("ccc", 5)).await.unwrap();
    let third = one.run(weights("ccc", 7)).await.unwrap();
    assert_eq!(third.after.revision(), Revision(START + 3));
    assert_eq!(
        third.after.group(&name("bbb")).unwrap().state().name(),
        "draining"
    );
}

#[tokio::test]
async fn of_two_operators_who_saw_one_state_the_second_is_told_so() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let seen = one.revision();
    one.run_if(Some(seen), weights("bbb", 50)).await.unwrap();
    let late = two.run_if(Some(seen), weights("bbb", 30)).await;
    assert!(matches!(late, Err(ControlError::Stale { .. })), "{late:?}");
    assert_eq!(
        shared(&engine)
            .rollout
            .group(&name("bbb"))
            .unwrap()
            .weight()
            .get(),
        50
    );
}

#[tokio::test]
async fn changes_of_many_replicas_at_once_are_all_made() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    for round in 1..=10 {
        let (a, b) = tokio::join!(
            one.run(weights("bbb", round)),
            two.run(weights("ccc", round))
        );
        a.unwrap();
        b.unwrap();
    }
    let rollout = shared(&engine).rollout;
    assert_eq!(rollout.revision(), Revision(START + 20));
    for group in ["bbb", "ccc"] {
        assert_eq!(rollout.group(&name(group)).unwrap().weight().get(), 10);
    }
}

#[tokio::test]
async fn a_change_whose_answer_was_lost_is_made_once() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    one.engine.lose_next_answer();
    let changed = one.run(weights("bbb", 50)).await.unwrap();
    assert_eq!(changed.after.revision(), Revision(START + 1));
    assert_eq!(shared(&engine).rollout, *changed.after);
}

#[tokio::test]
async fn an_abort_without_the_engine_is_a_fact_and_merges_when_it_is_back() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    engine.all_suffer(Fault::OutOfReach);
    let changed = one.abort("bbb", None).await;
    assert_eq!(changed.held, Held::Replica);
    assert_eq!((one.state("bbb"), two.state("bbb")), ("aborted", "active"));
    assert_eq!(one.revision(), Revision(START), "the revision stays");
    assert_eq!(one.standings(), [("bbb".to_owned(), Standing::Merges)]);
    // repeated it is the same fact
    one.abort("bbb", None).await;
    assert_eq!(one.standings().len(), 1);
    engine.all_suffer(None);
    one.sync().await;
    two.sync().await;
    assert_eq!(one.standings(), []);
    assert_eq!(two.state("bbb"), "aborted");
    assert_eq!(
        two.control.rollouts().current(),
        one.control.rollouts().current()
    );
    assert_eq!(two.revision(), Revision(START + 1));
}

#[tokio::test]
async fn a_fact_survives_a_restart_without_the_engine() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    engine.all_suffer(Fault::OutOfReach);
    one.abort("bbb", None).await;
    let one = one.restart(THREE).await;
    assert_eq!(one.state("bbb"), "aborted");
    engine.all_suffer(None);
    one.sync().await;
    assert_eq!(
        shared(&engine)
            .rollout
            .group(&name("bbb"))
            .unwrap()
            .state()
            .name(),
        "aborted"
    );
}

#[tokio::test]
async fn without_the_engine_every_other_change_is_refused() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    engine.all_suffer(Fault::OutOfReach);
    let verbs = [
        weights("bbb", 1),
        Verb::Promote(name("bbb")),
        Verb::Drain(name("bbb")),
        Verb::Restore(name("bbb")),
        Verb::Lock,
        Verb::Retire {
            group: name("ccc"),
            force: true,
        },
    ];
    for verb in verbs {
        let refused = one.run(verb.clone()).await;
        assert!(
            matches!(refused, Err(ControlError::Shared(_))),
            "{verb:?}: {refused:?}"
        );
    }
    assert_eq!(one.revision(), Revision(START));
}

#[tokio::test]
async fn a_group_that_was_changed_meanwhile_is_a_conflict_until_a_human_settles_it() {
    for confirm in [true, false] {
        let engine = MemoryEngine::new();
        let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
        one.engine.suffer(Fault::OutOfReach);
        one.abort("bbb", None).await;
        two.run(weights("bbb", 60)).await.unwrap();
        one.engine.suffer(None);
        one.sync().await;
        assert_eq!(one.standings(), [("bbb".to_owned(), Standing::Conflicts)]);
        assert_eq!(one.state("bbb"), "aborted", "it goes on obeying it");
        assert_eq!(
            one.revision(),
            Revision(START + 1),
            "and takes what others changed"
        );
        if confirm {
            one.abort("bbb", None).await;
            two.sync().await;
            assert_eq!(two.state("bbb"), "aborted");
        } else {
            let dropped = one.control.drop_fact("a test", &name("bbb")).unwrap();
            assert!(dropped);
            assert_eq!(one.state("bbb"), "active");
            assert!(!one.control.drop_fact("a test", &name("bbb")).unwrap());
        }
        assert_eq!(one.standings(), []);
    }
}

#[tokio::test]
async fn two_replicas_that_aborted_each_others_target_never_leave_nobody() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    engine.all_suffer(Fault::OutOfReach);
    one.abort("aaa", Some("bbb")).await;
    two.abort("bbb", Some("aaa")).await;
    engine.all_suffer(None);
    one.sync().await;
    two.sync().await;
    one.sync().await;
    assert_eq!(one.target("aaa"), "bbb");
    assert_eq!(two.target("aaa"), "bbb");
    assert_eq!(two.standings(), [("bbb".to_owned(), Standing::Conflicts)]);
    // no former stable group could take bbb's sessions, so the shared state is obeyed
    assert_eq!(two.state("bbb"), "active");
    assert_eq!(one.state("bbb"), "active");
}

#[tokio::test]
async fn the_first_abort_in_the_shared_state_names_the_target() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    engine.all_suffer(Fault::OutOfReach);
    one.abort("bbb", Some("aaa")).await;
    two.abort("bbb", Some("ccc")).await;
    engine.all_suffer(None);
    one.sync().await;
    two.sync().await;
    assert_eq!(
        (one.target("bbb"), two.target("bbb")),
        ("aaa".into(), "aaa".into())
    );
    assert_eq!(two.standings(), []);
}

#[tokio::test]
async fn a_restored_backup_is_overwritten_by_what_replicas_know() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let backup = engine.stored();
    one.abort("bbb", None).await;
    two.sync().await;
    let known = two.control.rollouts().current();
    for lost in [
        backup,
        Stored {
            document: None,
            version: Version::NONE,
        },
    ] {
        engine.restore(lost);
        two.sync().await;
        one.sync().await;
        assert_eq!(shared(&engine).rollout, *known);
        assert_eq!(one.control.rollouts().current(), known);
    }
    assert_eq!(two.member().counts().regressions, 2);
    assert_eq!(one.member().counts().regressions, 0);
}

#[tokio::test]
async fn two_states_of_one_number_become_one_of_a_greater_number() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let backup = engine.stored();
    one.run(weights("bbb", 50)).await.unwrap();
    engine.restore(backup);
    two.run(weights("bbb", 30)).await.unwrap();
    assert_eq!(one.revision(), two.revision());
    one.sync().await;
    two.sync().await;
    assert_eq!(one.revision(), Revision(START + 2));
    assert_eq!(
        one.control.rollouts().current(),
        two.control.rollouts().current()
    );
}

#[tokio::test]
async fn an_engine_that_lies_is_refused_and_counted_and_the_last_good_state_stays() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    one.run(weights("bbb", 50)).await.unwrap();
    let before = one.control.rollouts().current();
    let truth = engine.stored();
    let other = shared(&engine).to_document(&"search".parse().unwrap());
    for lie in ["", "garbage", "{}", other.as_str()] {
        let rejected = one.member().counts().rejected;
        engine.restore(Stored {
            document: Some(lie.to_owned()),
            version: truth.version,
        });
        assert!(one.member().sync().await.is_err(), "{lie:?} was taken");
        let refused = one.run(weights("bbb", 1)).await;
        assert!(
            matches!(refused, Err(ControlError::Shared(_))),
            "{refused:?}"
        );
        assert_eq!(one.control.rollouts().current(), before);
        assert_eq!(one.member().counts().rejected, rejected + 2);
        engine.restore(truth.clone());
        one.sync().await;
    }
    // an older document is no lie that could be told from a restored backup
    one.run(weights("bbb", 60)).await.unwrap();
    one.engine.suffer(Fault::Lies(truth));
    assert!(
        one.member().sync().await.is_err(),
        "ours cannot be written over what is there"
    );
    assert_eq!(
        one.control
            .rollouts()
            .current()
            .group(&name("bbb"))
            .unwrap()
            .weight()
            .get(),
        60
    );
}

#[tokio::test]
async fn a_state_from_a_later_release_refuses_the_start_and_says_what_to_do() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    let newer = engine
        .stored()
        .document
        .unwrap()
        .replacen("\"version\":1", "\"version\":2", 1);
    drop(one);
    let Replaced::Done(_) = engine
        .replace(engine.stored().version, newer)
        .await
        .unwrap()
    else {
        panic!("nobody else writes");
    };
    let directory = tempfile::tempdir().unwrap();
    let clock = HandClock::at(Timestamp::from_secs(START));
    let refused = join(&engine, &settings(THREE, directory.path()), &clock).await;
    let message = crate::causes::with_causes(&refused.unwrap_err());
    assert!(
        message.contains("version 2; this release reads version 1"),
        "{message}"
    );
}

#[tokio::test]
async fn a_new_group_of_the_configuration_is_registered_as_staged_for_all() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let more = format!(
        "{THREE}[[group]]\nname = \"ddd\"\nweight = 40\nendpoints = [\"127.0.0.1:7004\"]\n"
    );
    one.control
        .apply(&settings(&more, one.directory.path()))
        .unwrap();
    one.sync().await;
    two.sync().await;
    for replica in [&one, &two] {
        assert_eq!(replica.state("ddd"), "staged");
        assert_eq!(replica.control.groups().endpoints(&name("ddd")).len(), 1);
    }
    let weight = |replica: &Replica| {
        let rollout = replica.control.rollouts().current();
        rollout.group(&name("ddd")).unwrap().weight().get()
    };
    assert_eq!(weight(&two), 0, "as staged");
}

#[tokio::test]
async fn an_edited_weight_counts_for_nothing_and_edited_endpoints_count_here() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let edited = THREE
        .replace("weight = 20", "weight = 70")
        .replace(":7002", ":7022");
    one.control
        .apply(&settings(&edited, one.directory.path()))
        .unwrap();
    one.sync().await;
    assert_eq!(one.revision(), Revision(START));
    let address = |replica: &Replica| {
        replica.control.groups().endpoints(&name("bbb"))[0]
            .address()
            .port()
    };
    assert_eq!((address(&one), address(&two)), (7022, 7002));
}

#[tokio::test]
async fn the_endpoints_of_a_registered_group_reach_every_replica() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let register = Verb::Register {
        group: name("ddd"),
        endpoints: vec!["127.0.0.1:7009".parse().unwrap()],
        weight: Weight::ZERO,
    };
    one.run(register).await.unwrap();
    two.sync().await;
    assert_eq!(
        two.control.groups().endpoints(&name("ddd"))[0]
            .address()
            .port(),
        7009
    );
    assert_eq!(
        two.control.groups().endpoints(&name("bbb"))[0]
            .address()
            .port(),
        7002
    );
}

#[tokio::test]
async fn a_repeated_abort_replaces_the_policy_of_a_fact() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    engine.all_suffer(Fault::OutOfReach);
    one.abort("bbb", None).await;
    let verb = Verb::Abort {
        group: name("bbb"),
        to: None,
        policy: Some(crate::config::RollbackPolicy::End),
        within: None,
        force: false,
    };
    one.run(verb).await.unwrap();
    let (fact, _) = one.control.facts().remove(0);
    assert_eq!(fact.abort.policy, AbortPolicy::End);
    let rollout = one.control.rollouts().current();
    let Status::Aborted(abort) = rollout.status(&fact.id) else {
        panic!("it is aborted");
    };
    assert_eq!(abort.policy, AbortPolicy::End, "and it is obeyed");
}

#[tokio::test(start_paused = true)]
async fn a_replica_without_any_state_waits_for_the_engine() {
    let engine = MemoryEngine::new();
    drop(Replica::join(&engine).await);
    for fault in [Fault::OutOfReach, Fault::Silent] {
        engine.all_suffer(fault);
        let (link, directory) = (engine.link(), tempfile::tempdir().unwrap());
        let joining =
            tokio::spawn(async move { Replica::with(link, THREE, directory).await.revision() });
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(
            !joining.is_finished(),
            "it serves what nobody has agreed on"
        );
        engine.all_suffer(None);
        assert_eq!(joining.await.unwrap(), Revision(START));
    }
}

#[tokio::test]
async fn a_revision_that_only_a_pin_has_shown_is_shared_by_all() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let behind = one.clock.now();
    one.control.rollouts().seen(Revision(START + 100), behind);
    one.sync().await;
    assert_eq!(one.revision(), Revision(START + 100));
    let changed = two.run(weights("bbb", 1)).await.unwrap();
    assert_eq!(changed.after.revision(), Revision(START + 101));
}
