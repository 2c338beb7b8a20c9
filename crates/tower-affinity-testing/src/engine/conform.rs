//! [`conform`]: the facts that every engine has to fulfil.

#![allow(clippy::expect_used, clippy::panic)] // all of it is test code

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tower_affinity_core::{Announced, Engine, Replaced, Stored, Version};

/// Holds an engine against its contract, in some seconds of tokio's time.
///
/// `make` gives another replica's way to the engine of a service; the name of the service has only
/// lower-case letters and dashes, and there is nothing under it yet. The facts run side by side.
///
/// # Panics
///
/// If a fact does not hold.
pub async fn conform<E: Engine>(make: impl Fn(&str) -> E) {
    let make = &make;
    tokio::join!(
        nothing_is_read_before_something_is_created(make("nothing")),
        the_document_is_created_once(make("created"), make("created")),
        a_lost_replacement_changes_nothing(make("lost"), make("lost")),
        a_replacement_is_read_by_all_and_has_a_new_version(make("seen"), make("seen")),
        any_text_is_kept_as_it_is(make("texts")),
        of_many_replacements_one_is_done(make("contest"), make("contest")),
        a_change_by_another_wakes(make("wakes"), make("wakes")),
        nothing_wakes_without_a_change(make("sleeps"), make("sleeps")),
        a_change_that_is_past_is_answered_at_once(make("past")),
        no_change_between_two_waits_is_missed(make("gapless"), make("gapless")),
        a_replica_lapses_with_its_lease(make("lapses"), make("lapses")),
        an_announcement_again_keeps_a_replica_alive(make("kept")),
        a_departed_replica_leaves_its_record(make("departed"), make("departed")),
        a_forgotten_replica_is_gone(make("forgotten")),
        records_come_by_name(make("names")),
        services_do_not_see_each_other(make("service"), make("service-b")),
    );
}

async fn nothing_is_read_before_something_is_created(engine: impl Engine) {
    let nothing = Stored {
        document: None,
        version: Version::NONE,
    };
    assert_eq!(read(&engine).await, nothing);
    assert_eq!(records(&engine).await, []);
}

async fn the_document_is_created_once(one: impl Engine, other: impl Engine) {
    let version = replace(&one, Version::NONE, "first").await;
    assert_ne!(version, Version::NONE);
    assert_lost(&other, Version::NONE, "second").await;
    assert_eq!(read(&other).await, stored("first", version));
}

async fn a_lost_replacement_changes_nothing(one: impl Engine, other: impl Engine) {
    let first = replace(&one, Version::NONE, "first").await;
    let second = replace(&other, first, "second").await;
    for version in [first, Version::NONE, Version(second.0 + 1)] {
        assert_lost(&one, version, "third").await;
        assert_eq!(read(&one).await, stored("second", second));
    }
}

async fn a_replacement_is_read_by_all_and_has_a_new_version(one: impl Engine, other: impl Engine) {
    let mut versions = vec![Version::NONE];
    for round in 0..20 {
        let (writer, reader): (&dyn Engine, &dyn Engine) = match round % 2 {
            0 => (&one, &other),
            _ => (&other, &one),
        };
        let before = *versions.last().expect("there is the first one");
        // also with the same text as before
        let version = replace(writer, before, "same").await;
        assert!(!versions.contains(&version), "{version:?} came again");
        versions.push(version);
        assert_eq!(read(reader).await, stored("same", version));
    }
}

async fn any_text_is_kept_as_it_is(engine: impl Engine) {
    let mut version = Version::NONE;
    for text in ["", "{\"a\": 1}\n", "é\u{0}\u{10ffff}", &"x".repeat(1 << 18)] {
        version = replace(&engine, version, text).await;
        assert_eq!(read(&engine).await, stored(text, version));
    }
}

async fn of_many_replacements_one_is_done(one: impl Engine, other: impl Engine) {
    let mut version = Version::NONE;
    for _ in 0..20 {
        let (first, second) = tokio::join!(
            one.replace(version, "one".into()),
            other.replace(version, "other".into()),
        );
        let first = first.expect("an engine without faults replaces");
        let second = second.expect("an engine without faults replaces");
        version = match (first, second) {
            (Replaced::Done(version), Replaced::Lost) => {
                assert_eq!(read(&other).await, stored("one", version));
                version
            }
            (Replaced::Lost, Replaced::Done(version)) => {
                assert_eq!(read(&one).await, stored("other", version));
                version
            }
            both => panic!("not exactly one was done: {both:?}"),
        };
    }
}

async fn a_change_by_another_wakes(one: impl Engine, other: impl Engine) {
    let mut seen = Version::NONE;
    for text in ["first", "second", "third"] {
        let (woken, version) = tokio::join!(soon(one.changed(seen)), async {
            // so that the other one most likely waits already; the fact holds in any order
            sleep(MOMENT).await;
            replace(&other, seen, text).await
        });
        let woken = woken.expect("an engine without faults answers");
        assert_eq!(woken, stored(text, version));
        seen = version;
    }
}

async fn nothing_wakes_without_a_change(one: impl Engine, other: impl Engine) {
    let version = replace(&one, Version::NONE, "first").await;
    let waits = async {
        announce(&other, "r", "record", LEASE).await;
        assert_lost(&other, Version::NONE, "second").await;
        sleep(MOMENT).await;
    };
    tokio::select! {
        woken = one.changed(version) => panic!("woken without a change: {woken:?}"),
        () = waits => {}
    }
}

async fn a_change_that_is_past_is_answered_at_once(engine: impl Engine) {
    let first = replace(&engine, Version::NONE, "first").await;
    let second = replace(&engine, first, "second").await;
    for seen in [Version::NONE, first] {
        let changed = soon(engine.changed(seen)).await;
        let changed = changed.expect("an engine without faults answers");
        assert_eq!(changed, stored("second", second), "seen {seen:?}");
    }
}

async fn no_change_between_two_waits_is_missed(one: impl Engine, other: impl Engine) {
    const LAST: usize = 50;
    let writes = async {
        let mut version = Version::NONE;
        for number in 1..=LAST {
            version = replace(&other, version, &number.to_string()).await;
        }
    };
    let waits = async {
        let (mut seen, mut last) = (Version::NONE, 0);
        while last < LAST {
            let changed = soon(one.changed(seen)).await;
            let changed = changed.expect("an engine without faults answers");
            assert_ne!(changed.version, seen);
            let number = changed.document.as_deref().map(str::parse);
            let number = number.expect("it was created").expect("a number");
            assert!(number > last, "{number} after {last}");
            (seen, last) = (changed.version, number);
        }
    };
    tokio::join!(writes, waits);
}

async fn a_replica_lapses_with_its_lease(one: impl Engine, other: impl Engine) {
    let begin = Instant::now();
    announce(&one, "r", "record", LEASE).await;
    assert_eq!(records(&other).await, [alive("r", "record")]);
    while records(&other).await == [alive("r", "record")] {
        assert!(begin.elapsed() < SOON, "it never lapsed");
        sleep(MOMENT).await;
    }
    assert!(begin.elapsed() >= LEASE, "lapsed at {:?}", begin.elapsed());
    assert_eq!(records(&one).await, [gone("r", "record")]);
    announce(&one, "r", "back", LEASE).await;
    assert_eq!(records(&other).await, [alive("r", "back")]);
}

async fn an_announcement_again_keeps_a_replica_alive(engine: impl Engine) {
    let begin = Instant::now();
    let mut beat = 0;
    while begin.elapsed() < LEASE * 3 {
        // the same record twice, then another one
        let record = (beat / 2).to_string();
        announce(&engine, "r", &record, LEASE * 2).await;
        assert_eq!(records(&engine).await, [alive("r", &record)]);
        sleep(LEASE / 4).await;
        beat += 1;
    }
}

async fn a_departed_replica_leaves_its_record(one: impl Engine, other: impl Engine) {
    announce(&one, "r", "record", LEASE * 60).await;
    one.depart("r", "last".into()).await.expect("it departs");
    assert_eq!(records(&other).await, [gone("r", "last")]);
    // twice is as once, and one that was never announced can depart
    one.depart("r", "last".into()).await.expect("it departs");
    one.depart("s", "only".into()).await.expect("it departs");
    assert_eq!(
        records(&other).await,
        [gone("r", "last"), gone("s", "only")]
    );
    announce(&one, "r", "back", LEASE * 60).await;
    assert_eq!(
        records(&other).await,
        [alive("r", "back"), gone("s", "only")]
    );
}

async fn a_forgotten_replica_is_gone(engine: impl Engine) {
    announce(&engine, "r", "record", LEASE * 60).await;
    engine.depart("s", "last".into()).await.expect("it departs");
    for replica in ["r", "s"] {
        let known = engine.forget(replica).await.expect("it is forgotten");
        assert!(known, "{replica}");
        let known = engine.forget(replica).await.expect("it is forgotten");
        assert!(!known, "{replica} was forgotten already");
    }
    assert_eq!(records(&engine).await, []);
    announce(&engine, "r", "back", LEASE * 60).await;
    assert_eq!(records(&engine).await, [alive("r", "back")]);
}

async fn records_come_by_name(engine: impl Engine) {
    for replica in ["b", "a/b", "a", "c", "a-b"] {
        announce(&engine, replica, replica, LEASE * 60).await;
    }
    let names = ["a", "a-b", "a/b", "b", "c"];
    assert_eq!(records(&engine).await, names.map(|name| alive(name, name)));
}

async fn services_do_not_see_each_other(one: impl Engine, other: impl Engine) {
    let version = replace(&one, Version::NONE, "one").await;
    announce(&one, "r", "one", LEASE * 60).await;
    assert_eq!(read(&other).await.document, None);
    assert_eq!(records(&other).await, []);
    replace(&other, Version::NONE, "other").await;
    announce(&other, "r", "other", LEASE * 60).await;
    assert!(other.forget("r").await.expect("it is forgotten"));
    assert_eq!(read(&one).await, stored("one", version));
    assert_eq!(records(&one).await, [alive("r", "one")]);
}

async fn read(engine: &dyn Engine) -> Stored {
    engine.read().await.expect("an engine without faults reads")
}

async fn replace(engine: &dyn Engine, version: Version, document: &str) -> Version {
    let replaced = engine.replace(version, document.to_owned()).await;
    match replaced.expect("an engine without faults replaces") {
        Replaced::Done(version) => version,
        Replaced::Lost => panic!("{document:.20?} was lost at {version:?}"),
    }
}

async fn assert_lost(engine: &dyn Engine, version: Version, document: &str) {
    let replaced = engine.replace(version, document.to_owned()).await;
    let replaced = replaced.expect("an engine without faults answers");
    assert_eq!(replaced, Replaced::Lost, "at {version:?}");
}

async fn announce(engine: &dyn Engine, replica: &str, record: &str, lapse: Duration) {
    let announced = engine.announce(replica, record.to_owned(), lapse).await;
    announced.expect("an engine without faults takes a record");
}

async fn records(engine: &dyn Engine) -> Vec<Announced> {
    engine
        .records()
        .await
        .expect("an engine without faults lists records")
}

async fn soon<T>(answer: impl Future<Output = T>) -> T {
    let answer = timeout(SOON, answer).await;
    answer.expect("a change is answered soon")
}

fn stored(document: &str, version: Version) -> Stored {
    Stored {
        document: Some(document.to_owned()),
        version,
    }
}

fn alive(replica: &str, record: &str) -> Announced {
    Announced {
        replica: replica.to_owned(),
        record: record.to_owned(),
        alive: true,
    }
}

fn gone(replica: &str, record: &str) -> Announced {
    Announced {
        alive: false,
        ..alive(replica, record)
    }
}

/// The shortest lease that the contract knows.
const LEASE: Duration = Duration::from_secs(1);

/// Far above what an answer takes, and above the time by which an engine may lengthen a lease.
const SOON: Duration = Duration::from_secs(10);

/// Long enough for others to get their turn.
const MOMENT: Duration = Duration::from_millis(50);
