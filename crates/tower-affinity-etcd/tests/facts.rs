//! The engine against a real etcd: its contract, and what happens when etcd fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use etcd_client::Permission;
use tokio::time::{Instant, sleep, timeout};
use tower_affinity_core::{Engine, Replaced, Stored, Version};
use tower_affinity_etcd::{EtcdEngine, EtcdOptions};
use tower_affinity_testing::engine::{EtcdServer, conform};

/// Nobody listens on the port for discarding.
const NOBODY: &str = "http://127.0.0.1:9";

/// Within it a request or a watch has to notice that nothing comes any more.
const NOTICED: Duration = Duration::from_secs(3);

fn engine(endpoints: &[&str]) -> EtcdEngine {
    EtcdEngine::new(
        endpoints.iter().copied(),
        "/affinity/test",
        EtcdOptions::new(),
    )
    .unwrap()
}

async fn create(engine: &EtcdEngine, document: &str) -> Version {
    let created = engine.replace(Version::NONE, document.into()).await;
    match created.unwrap() {
        Replaced::Done(version) => version,
        Replaced::Lost => panic!("there is a document already"),
    }
}

async fn replace(engine: &EtcdEngine, document: &str) -> Version {
    let version = engine.read().await.unwrap().version;
    match engine.replace(version, document.into()).await.unwrap() {
        Replaced::Done(version) => version,
        Replaced::Lost => panic!("somebody else has replaced it"),
    }
}

/// Asks until it is answered; a server that was away takes a moment.
async fn back(engine: &EtcdEngine) -> Stored {
    let begin = Instant::now();
    loop {
        match engine.read().await {
            Ok(stored) => return stored,
            Err(error) => assert!(begin.elapsed() < NOTICED, "still away: {error:?}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn etcd_fulfils_the_contract() {
    let Some(server) = EtcdServer::start().await else {
        return;
    };
    conform(|service: &str| {
        let prefix = format!("/affinity/{service}");
        EtcdEngine::new([server.endpoint()], &prefix, EtcdOptions::new()).unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_down_is_an_error_of_each_call_until_it_is_up() {
    let Some(mut server) = EtcdServer::start().await else {
        return;
    };
    server.stop().await;
    let endpoint = server.endpoint();
    let engine = engine(&[&endpoint]);
    let begin = Instant::now();
    assert!(engine.read().await.is_err());
    assert!(engine.replace(Version::NONE, "x".into()).await.is_err());
    assert!(engine.changed(Version::NONE).await.is_err());
    let lapse = Duration::from_secs(10);
    assert!(engine.announce("r", String::new(), lapse).await.is_err());
    assert!(engine.depart("r", String::new()).await.is_err());
    assert!(engine.forget("r").await.is_err());
    assert!(engine.records().await.is_err());
    // nobody listens, so no call has to wait for its end
    assert!(begin.elapsed() < NOTICED, "{:?}", begin.elapsed());
    server.restart().await;
    assert_eq!(back(&engine).await.version, Version::NONE);
}

#[tokio::test]
async fn an_accepted_replacement_survives_a_restart() {
    let Some(mut server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let engine = engine(&[&endpoint]);
    let version = create(&engine, "first").await;
    server.restart().await;
    let stored = back(&engine).await;
    assert_eq!(stored.version, version);
    assert_eq!(stored.document.as_deref(), Some("first"));
}

#[tokio::test]
async fn a_silent_server_is_noticed_by_requests_and_by_a_watch() {
    let Some(server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let (waiting, asking) = (engine(&[&endpoint]), engine(&[&endpoint]));
    let version = create(&asking, "first").await;
    let wait = timeout(NOTICED * 2, waiting.changed(version));
    let silence = async {
        // more than the time after which a quiet watch is asked: it has to outlive that
        sleep(Duration::from_millis(2_500)).await;
        server.pause();
        let begin = Instant::now();
        assert!(asking.read().await.is_err());
        assert!(begin.elapsed() < NOTICED, "{:?}", begin.elapsed());
        begin
    };
    let (waited, begin) = tokio::join!(wait, silence);
    assert!(waited.expect("the watch notices it").is_err());
    assert!(begin.elapsed() < NOTICED, "{:?}", begin.elapsed());
    server.resume();
    assert_eq!(back(&asking).await.version, version);
    assert_eq!(back(&waiting).await.version, version);
}

#[tokio::test]
async fn a_dead_endpoint_is_passed_over() {
    let Some(server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let engine = engine(&[NOBODY, &endpoint, NOBODY]);
    assert_eq!(engine.read().await.unwrap().version, Version::NONE);
    let version = create(&engine, "first").await;
    assert_eq!(
        engine.changed(Version::NONE).await.unwrap().version,
        version
    );
}

#[tokio::test]
async fn another_endpoint_takes_over_from_a_silent_one() {
    let (Some(silent), Some(server)) = (EtcdServer::start().await, EtcdServer::start().await)
    else {
        return;
    };
    let (first, second) = (silent.endpoint(), server.endpoint());
    let engine = engine(&[&first, &second]);
    assert_eq!(engine.read().await.unwrap().document, None);
    silent.pause();
    assert!(engine.read().await.is_err());
    assert_eq!(engine.read().await.unwrap().document, None);
    silent.resume();
}

#[tokio::test]
async fn a_document_that_is_deleted_is_a_change_to_nothing() {
    let Some(server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let engine = engine(&[&endpoint]);
    let version = create(&engine, "first").await;
    let mut client = etcd_client::Client::connect([&endpoint], None)
        .await
        .unwrap();
    let (changed, deleted) = tokio::join!(
        timeout(NOTICED, engine.changed(version)),
        client.delete("/affinity/test/state", None),
    );
    assert_eq!(deleted.unwrap().deleted(), 1);
    let nothing = Stored {
        document: None,
        version: Version::NONE,
    };
    assert_eq!(changed.unwrap().unwrap(), nothing);
    // what is created afterwards has a version that was never there before
    assert!(create(&engine, "second").await.0 > version.0);
}

#[tokio::test]
async fn a_compacted_history_hides_no_change() {
    let Some(server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let engine = engine(&[&endpoint]);
    let first = create(&engine, "first").await;
    let last = replace(&engine, "second").await;
    let mut client = etcd_client::Client::connect([&endpoint], None)
        .await
        .unwrap();
    let revision = i64::try_from(last.0).unwrap();
    client.compact(revision, None).await.unwrap();
    let changed = engine.changed(first).await.unwrap();
    assert_eq!(changed.version, last);
    let (changed, third) = tokio::join!(
        timeout(NOTICED, engine.changed(last)),
        replace(&engine, "third")
    );
    assert_eq!(changed.unwrap().unwrap().version, third);
}

#[tokio::test]
async fn an_earlier_state_is_seen_after_a_restore() {
    let Some(mut server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let engine = engine(&[&endpoint]);
    let first = create(&engine, "first").await;
    let backup = server.back_up().await;
    back(&engine).await;
    let second = replace(&engine, "second").await;
    server.restore(&backup).await;
    let stored = back(&engine).await;
    assert_eq!(stored.document.as_deref(), Some("first"));
    assert_eq!(stored.version, first);
    let lost = engine.replace(second, "third".into()).await.unwrap();
    assert_eq!(lost, Replaced::Lost);
    assert_eq!(engine.changed(second).await.unwrap(), stored);
}

#[tokio::test]
async fn a_user_needs_the_prefix_only_and_no_error_shows_a_password() {
    let Some(server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let mut client = etcd_client::Client::connect([&endpoint], None)
        .await
        .unwrap();
    let prefix = Permission::read_write("/affinity/test/").with_prefix();
    client.role_add("role").await.unwrap();
    client.role_grant_permission("role", prefix).await.unwrap();
    client.role_add("root").await.unwrap();
    for (user, role) in [("gateway", "role"), ("root", "root")] {
        client.user_add(user, "correct", None).await.unwrap();
        client.user_grant_role(user, role).await.unwrap();
    }
    client.auth_enable().await.unwrap();

    let with = |prefix, options| EtcdEngine::new([endpoint.as_str()], prefix, options).unwrap();
    let user = || EtcdOptions::new().user("gateway", "correct");
    let right = with("/affinity/test", user());
    let version = create(&right, "first").await;
    assert_eq!(right.changed(Version::NONE).await.unwrap().version, version);
    let lapse = Duration::from_secs(10);
    right.announce("r", "record".into(), lapse).await.unwrap();
    assert!(right.records().await.unwrap().first().unwrap().alive);
    right.depart("r", "last".into()).await.unwrap();
    assert!(right.forget("r").await.unwrap());

    assert!(with("/affinity/other", user()).read().await.is_err());
    assert!(
        with("/affinity/test", EtcdOptions::new())
            .read()
            .await
            .is_err()
    );
    let wrong = with(
        "/affinity/test",
        EtcdOptions::new().user("gateway", "mistaken"),
    );
    let error = wrong.read().await.unwrap_err();
    let shown = format!("{error} {error:?} {wrong:?}");
    assert!(!shown.contains("mistaken"), "{shown}");
}

#[tokio::test]
async fn what_is_no_text_is_an_error_and_not_a_document() {
    let Some(server) = EtcdServer::start().await else {
        return;
    };
    let endpoint = server.endpoint();
    let engine = engine(&[&endpoint]);
    let mut client = etcd_client::Client::connect([&endpoint], None)
        .await
        .unwrap();
    client
        .put("/affinity/test/state", [0xff], None)
        .await
        .unwrap();
    assert!(engine.read().await.is_err());
}
