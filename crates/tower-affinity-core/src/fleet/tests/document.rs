//! The record as a document: it round trips, and what is no record is refused with a reason.

use serde_json::{Value, json};

use super::{group, record};
use crate::analysis::{StepTally, Tally};
use crate::fixtures::{at, id, key, session};
use crate::{
    Acknowledged, Announced, Fleet, Keyring, LiveSketch, RecordError, ReplicaRecord, Revision,
    Sketch, State,
};

/// A record that has something of everything.
fn rich() -> ReplicaRecord {
    let mut sketch = Sketch::default();
    sketch.insert(session(7));
    let mut known = group("A", Some(1_800), 3, Some(1));
    let mut left = Sketch::default();
    left.insert(session(7));
    sketch.insert(session(8 << 64));
    known.live = Some(LiveSketch { seen: sketch, left });
    known.counted = Some(counted(8, 3, 90));
    ReplicaRecord {
        admin: Some("10.0.0.7:9090".to_owned()),
        config: Some("00ff00ff".parse().unwrap()),
        groups: vec![known, group("B", None, 0, None)],
        ..record(at(2))
    }
}

fn counted(step: u64, since: i64, sessions: u64) -> StepTally {
    StepTally {
        step: Revision(step),
        since: at(since),
        tally: Tally {
            sessions,
            failed: 1,
            completed: 2,
            slow: 3,
            requests: u64::MAX,
            failed_requests: 4,
        },
    }
}

#[test]
fn a_record_of_the_first_releases_has_counted_nothing() {
    let mut document = rich().to_document();
    let group = document["groups"][0].as_object_mut().unwrap();
    assert!(group.remove("counted").is_some(), "it is written");
    let record = ReplicaRecord::from_document(&document).unwrap();
    assert_eq!(record.groups[0].counted, None);
    assert_eq!(record.groups[0].live, rich().groups[0].live);
}

#[test]
fn the_fleet_counts_what_belongs_to_the_step() {
    let of = |counted| {
        let mut known = group("A", None, 0, None);
        known.counted = counted;
        ReplicaRecord {
            groups: vec![known],
            ..record(at(2))
        }
    };
    let said = |name: &str, alive, record: ReplicaRecord| Announced {
        replica: name.to_owned(),
        record: record.to_document().to_string(),
        alive,
    };
    let announced = [
        said("own", true, of(Some(counted(8, 0, 5)))),
        said("other", true, of(Some(counted(8, 3, 10)))),
        said("silent", false, of(Some(counted(8, 2, 20)))),
        said("behind", true, of(Some(counted(7, 1, 40)))),
        said("old", true, of(None)),
    ];
    let fleet = Fleet::new("own", of(None), &announced);
    let all = fleet.counted(&id("A", 1), Revision(8)).unwrap();
    assert_eq!((all.tally.sessions, all.since), (30, at(2)));
    assert_eq!(fleet.counted(&id("A", 1), Revision(9)), None);
    assert_eq!(
        fleet.counted(&id("A", 2), Revision(8)),
        None,
        "another generation"
    );
}

#[test]
fn a_record_round_trips_through_its_document() {
    for record in [record(at(0)), rich()] {
        let text = record.to_document().to_string();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(ReplicaRecord::from_document(&document).unwrap(), record);
    }
}

#[test]
fn a_record_of_a_release_that_knows_of_no_ends_is_read() {
    let mut document = rich().to_document();
    let group = document["groups"][0].as_object_mut().unwrap();
    group.remove("left").expect("the rich record has one");
    let record = ReplicaRecord::from_document(&document).unwrap();
    let live = record.groups[0].live.as_ref().unwrap();
    assert_eq!(live.left, Sketch::default());
    assert_eq!(live.count().round(), 2.0, "both count as live");
}

#[test]
fn a_later_version_is_refused_by_its_number() {
    let mut document = rich().to_document();
    document["version"] = json!(2);
    document["keys"] = json!({"of": "a later release"});
    let error = ReplicaRecord::from_document(&document).unwrap_err();
    assert!(matches!(error, RecordError::Version(2)), "{error}");
}

#[test]
fn what_is_not_of_our_making_is_refused() {
    type Break = fn(&mut Value);
    let breaks: [(&str, Break); 14] = [
        ("not an object", |d| *d = json!("garbage")),
        ("no time", |d| {
            d.as_object_mut().unwrap().remove("at");
        }),
        ("a negative time", |d| d["at"] = json!(-1)),
        ("a group name", |d| d["groups"][0]["name"] = json!("a b")),
        ("a reserved name", |d| {
            d["groups"][0]["name"] = json!("none")
        }),
        ("a group twice", |d| {
            let first = d["groups"][0].clone();
            d["groups"].as_array_mut().unwrap().push(first);
        }),
        ("a key twice", |d| {
            let first = d["keys"][0].clone();
            d["keys"].as_array_mut().unwrap().push(first);
        }),
        ("a key id", |d| d["signing"] = json!("a key")),
        ("a digest", |d| d["keys"][0]["digest"] = json!("XYZ")),
        ("an empty digest", |d| d["config"] = json!("")),
        ("a long address", |d| d["admin"] = json!("a".repeat(257))),
        ("an address that moves the cursor", |d| {
            d["admin"] = json!("\u{1b}[2J")
        }),
        ("counts that are none", |d| {
            d["groups"][0]["counted"]["failed"] = json!(-1)
        }),
        ("a sketch", |d| d["groups"][0]["live"] = json!("A")),
    ];
    for (row, break_it) in breaks {
        let mut document = rich().to_document();
        break_it(&mut document);
        assert!(
            ReplicaRecord::from_document(&document).is_err(),
            "{row} was accepted"
        );
    }
}

#[test]
fn an_address_that_peers_would_refuse_is_not_told_them() {
    let record = ReplicaRecord {
        admin: Some("a".repeat(257)),
        ..rich()
    };
    let told = ReplicaRecord::from_document(&record.to_document()).unwrap();
    assert_eq!(told.admin, None);
}

#[test]
fn a_key_has_one_digest_that_no_other_key_has_and_that_does_not_show_it() {
    let digests = |id: &str, seed| Keyring::new([key(id, seed)]).unwrap().digests();
    let one = digests("k1", 1).remove(0);
    assert_eq!(one.digest, digests("k2", 1).remove(0).digest);
    assert_ne!(one.digest, digests("k1", 2).remove(0).digest);
    assert_eq!(one.digest.as_str().len(), 32);
    let codec = crate::fixtures::codec("checkout", &[("k1", 1)]);
    assert_eq!(codec.digests(), [one]);
}

#[test]
fn an_end_of_new_sessions_is_acknowledged_once_for_each_end() {
    let drains = |since| State::Draining { since: at(since) };
    let of = |state: &State, before: Option<&ReplicaRecord>, now| {
        Acknowledged::of(&id("A", 1), state, before, at(now))
    };
    let acknowledged = |since, now| {
        Some(Acknowledged {
            since: at(since),
            at: at(now),
        })
    };
    let before = record(at(50));
    assert_eq!(of(&State::Active, Some(&before), 60), None);
    // a replica without a past began no session here
    assert_eq!(of(&drains(30), None, 60), acknowledged(30, 30));
    assert_eq!(of(&drains(30), Some(&before), 60), acknowledged(30, 60));
    let known = ReplicaRecord {
        groups: vec![group("A", None, 0, Some(5))],
        ..before
    };
    assert_eq!(of(&drains(0), Some(&known), 60), acknowledged(0, 5));
    assert_eq!(of(&drains(30), Some(&known), 60), acknowledged(30, 60));
    let retired = State::Retired { at: at(70) };
    assert_eq!(of(&retired, Some(&known), 80), acknowledged(70, 80));
}
