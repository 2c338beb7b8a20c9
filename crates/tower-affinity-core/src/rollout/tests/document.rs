//! The rollout as a document: it round trips, and what is no rollout is refused with a reason.

use serde_json::{Value, json};

use super::shape::town;
use crate::fixtures::{View, after, at, name};
use crate::{AbortPolicy, AbortRequest, DocumentError, Rollout};

/// A rollout that has something of everything.
fn rich() -> Rollout {
    let promoted = town().promote(&name("B"), after(&town(), at(1))).unwrap();
    let request = AbortRequest {
        policy: Some(AbortPolicy::Stay { until: at(600) }),
        ..AbortRequest::default()
    };
    let change = after(&promoted, at(2));
    let aborted = promoted
        .abort(&name("D"), &request, &View::default(), change)
        .unwrap();
    let restored = aborted.restore(&name("E"), after(&aborted, at(3))).unwrap();
    restored
        .retire(&name("D"), None, false, after(&restored, at(4)))
        .unwrap()
}

#[test]
fn a_rollout_round_trips_through_its_document() {
    for rollout in [town(), rich()] {
        let text = rollout.to_document().to_string();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(Rollout::from_document(&document).unwrap(), rollout);
    }
}

#[test]
fn a_later_version_is_refused_by_its_number() {
    let mut document = rich().to_document();
    document["version"] = json!(2);
    document["new"] = json!({"of": "a later release"});
    let error = Rollout::from_document(&document).unwrap_err();
    assert!(matches!(error, DocumentError::Version(2)), "{error}");
}

#[test]
fn a_document_that_breaks_a_rule_is_refused() {
    type Break = fn(&mut Value);
    let breaks: [(&str, Break); 8] = [
        (
            "no weight",
            |d| {
                d["groups"] =
                    json!([{"name": "B", "generation": 1, "weight": 0, "state": "active"}])
            },
        ),
        ("stable is not there", |d| d["stable"] = json!("Z")),
        ("stable drains", |d| d["stable"] = json!("A")),
        ("a name twice", |d| {
            let first = d["groups"][0].clone();
            d["groups"].as_array_mut().unwrap().push(first);
        }),
        ("idle weight", |d| d["groups"][0]["weight"] = json!(5)),
        ("weight too great", |d| {
            d["groups"][1]["weight"] = json!(10_001)
        }),
        ("an invalid name", |d| d["groups"][1]["name"] = json!("a b")),
        ("an invalid stable name", |d| d["stable"] = json!("none")),
    ];
    for (row, break_it) in breaks {
        let mut document = rich().to_document();
        break_it(&mut document);
        assert!(
            Rollout::from_document(&document).is_err(),
            "{row} was accepted"
        );
    }
}

#[test]
fn no_member_can_be_missing_or_of_another_type() {
    let document = rich().to_document();
    let members = document.as_object().unwrap().keys();
    for member in members.filter(|member| *member != "locked") {
        let mut missing = document.clone();
        missing.as_object_mut().unwrap().remove(member);
        assert!(
            Rollout::from_document(&missing).is_err(),
            "without {member}"
        );
        for wrong in [
            json!(null),
            json!(-1),
            json!(1.5),
            json!({"a": 1}),
            json!(true),
        ] {
            let mut broken = document.clone();
            broken[member] = wrong.clone();
            assert!(
                Rollout::from_document(&broken).is_err(),
                "{member} = {wrong}"
            );
        }
    }
}

#[test]
fn a_document_from_before_there_was_a_lock_is_not_locked() {
    let mut document = rich().to_document();
    document.as_object_mut().unwrap().remove("locked");
    assert!(!Rollout::from_document(&document).unwrap().is_locked());
    for wrong in [json!(null), json!(1), json!("true")] {
        document["locked"] = wrong.clone();
        assert!(
            Rollout::from_document(&document).is_err(),
            "locked = {wrong}"
        );
    }
}

#[test]
fn every_truncation_of_the_text_is_refused() {
    let text = rich().to_document().to_string();
    for end in 0..text.len() {
        let read = serde_json::from_str::<Value>(&text[..end]);
        let accepted = read.is_ok_and(|document| Rollout::from_document(&document).is_ok());
        assert!(!accepted, "the first {end} bytes were accepted");
    }
}
