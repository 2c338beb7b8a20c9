//! Aborts while the engine is out of reach.

use super::*;

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
async fn a_replica_that_is_cut_off_never_says_that_all_obey_an_abort() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    one.abort("bbb", None).await;
    one.engine.suffer(Fault::OutOfReach);
    // what all knew to be aborted serves again, which the one that is cut off cannot know
    two.run(Verb::Restore(name("bbb"))).await.unwrap();
    two.run(weights("bbb", 20)).await.unwrap();
    let again = one.abort("bbb", None).await;
    assert_eq!((again.held, one.standings()), (Held::Replica, Vec::new()));
    assert_eq!(one.abort("ccc", None).await.held, Held::Replica);
}

#[tokio::test]
async fn a_preview_shows_what_the_shared_state_would_become() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    one.engine.suffer(Fault::OutOfReach);
    one.abort("bbb", None).await;
    let preview = |verb: Verb| {
        let (control, request) = (
            one.control.clone(),
            Request {
                who: "a test".to_owned(),
                if_match: None,
                verb,
            },
        );
        tokio::task::spawn_blocking(move || control.preview(&request))
    };
    let refused = preview(weights("ccc", 1)).await.unwrap();
    assert!(
        matches!(refused, Err(ControlError::Shared(_))),
        "as the change itself"
    );
    two.run(Verb::Promote(name("bbb"))).await.unwrap();
    one.engine.suffer(None);
    one.sync().await;
    assert_eq!(one.standings(), [("bbb".to_owned(), Standing::Conflicts)]);
    let shown = preview(abort("bbb", None)).await.unwrap().unwrap();
    let confirmed = one.abort("bbb", None).await;
    assert_ne!(*shown.before, shown.after, "it changes what all obey");
    assert_eq!(shown.after.groups().len(), confirmed.after.groups().len());
    for (previewed, made) in shown.after.groups().iter().zip(confirmed.after.groups()) {
        assert_eq!(previewed.weight(), made.weight(), "{}", made.name());
        assert_eq!(
            previewed.state().name(),
            made.state().name(),
            "{}",
            made.name()
        );
    }
    assert_eq!(shown.after.stable(), confirmed.after.stable());
}

#[tokio::test]
async fn an_abort_without_the_engine_and_the_disk_is_in_force_and_held_nowhere() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    engine.all_suffer(Fault::OutOfReach);
    std::fs::remove_dir_all(one.directory.path()).unwrap();
    assert_eq!(one.abort("bbb", None).await.held, Held::Nowhere);
    assert_eq!(one.state("bbb"), "aborted");
    std::fs::create_dir(one.directory.path()).unwrap();
    assert_eq!(
        one.abort("bbb", None).await.held,
        Held::Replica,
        "repeated, it is kept"
    );
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
async fn an_abort_of_the_target_of_another_merges_after_it() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    engine.all_suffer(Fault::OutOfReach);
    one.abort("aaa", Some("bbb")).await;
    one.abort("bbb", Some("ccc")).await;
    let pending = ["aaa", "bbb"].map(|group| (group.to_owned(), Standing::Merges));
    assert_eq!(one.standings(), pending);
    engine.all_suffer(None);
    one.sync().await;
    two.sync().await;
    assert_eq!(one.standings(), []);
    assert_eq!((two.state("aaa"), two.state("bbb")), ("aborted", "aborted"));
    let rollout = two.control.rollouts().current();
    assert_eq!(*rollout.stable(), name("ccc"));
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
