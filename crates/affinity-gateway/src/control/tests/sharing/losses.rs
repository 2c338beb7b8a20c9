//! An engine that lost, forged or withholds the state.

use super::*;

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
async fn no_state_that_comes_back_takes_an_abort_back() {
    for newer in [false, true] {
        let engine = MemoryEngine::new();
        let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
        let backup = engine.stored();
        one.run(weights("bbb", 50)).await.unwrap();
        if newer {
            one.run(weights("bbb", 60)).await.unwrap();
        }
        let theirs = engine.stored();
        engine.restore(backup);
        assert_eq!(two.abort("bbb", None).await.held, Held::All);
        if newer {
            engine.restore(theirs);
            two.sync().await;
        }
        one.sync().await;
        assert_eq!((one.state("bbb"), two.state("bbb")), ("aborted", "aborted"));
        two.sync().await;
        assert_eq!(one.standings(), []);
        assert_eq!(two.standings(), []);
        let known = one.control.rollouts().current();
        assert_eq!(shared(&engine).rollout, *known);
        assert_eq!(two.control.rollouts().current(), known);
        assert_eq!(known.group(&name("bbb")).unwrap().state().name(), "aborted");
    }
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
async fn a_replica_with_a_state_of_its_own_starts_beside_a_document_that_is_none() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    one.run(weights("bbb", 50)).await.unwrap();
    let revision = one.revision();
    let truth = engine.stored();
    engine.restore(Stored {
        document: Some("garbage".to_owned()),
        version: truth.version,
    });
    let one = one.restart(THREE).await;
    assert_eq!(one.revision(), revision, "what it accepted last");
    assert!(one.member().counts().rejected > 0);
    let nothing = Stored {
        document: None,
        version: Version::NONE,
    };
    engine.restore(nothing);
    one.sync().await;
    assert_eq!(
        shared(&engine).rollout.revision(),
        revision,
        "it is written back"
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
    assert!(message.contains("delete the document"), "{message}");
    assert!(
        message.contains("version 2; this release reads version 1"),
        "{message}"
    );
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
