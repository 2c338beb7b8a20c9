//! Changes that all replicas obey, whoever made them.

use super::*;

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
        compatible_with: None,
    };
    one.run(register).await.unwrap();
    two.sync().await;
    let ports = |replica: &Replica, group| {
        let endpoints = replica.control.groups().endpoints(&name(group));
        let ports = endpoints.iter().map(|endpoint| endpoint.address().port());
        ports.collect::<Vec<_>>()
    };
    for replica in [&one, &two] {
        assert_eq!(ports(replica, "ddd"), [7009]);
        assert_eq!(ports(replica, "bbb"), [7002]);
    }
    // whoever changes something next keeps them for all
    one.run(weights("ddd", 5)).await.unwrap();
    two.sync().await;
    assert_eq!(ports(&two, "ddd"), [7009]);
}

#[tokio::test]
async fn an_address_that_two_groups_claim_stands_against_no_abort() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    let other = THREE.replace(":7003", ":7009");
    let two = Replica::with(engine.link(), &other, tempfile::tempdir().unwrap()).await;
    let register = Verb::Register {
        group: name("ddd"),
        endpoints: vec!["127.0.0.1:7009".parse().unwrap()],
        weight: Weight::ZERO,
        compatible_with: None,
    };
    one.run(register).await.unwrap();
    let refused = two.run(weights("bbb", 1)).await;
    assert!(
        matches!(refused, Err(ControlError::EndpointTaken { .. })),
        "{refused:?}"
    );
    assert_eq!(two.abort("bbb", None).await.held, Held::All);
    assert_eq!(two.state("bbb"), "aborted");
}
