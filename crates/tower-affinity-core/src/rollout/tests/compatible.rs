//! What a group declares of others, and that it is checked and kept.

use serde_json::json;

use super::shape::town;
use crate::fixtures::{active, after, at, name, weight};
use crate::{Incompatible, MAX_COMPATIBLE, NewGroup, Refusal, Revision, Rollout, RolloutError};

fn names(with: &[&str]) -> Vec<crate::GroupName> {
    with.iter().map(|group| name(group)).collect()
}

fn declare(rollout: &Rollout, group: &str, with: &[&str]) -> Result<Rollout, Refusal> {
    rollout.declare(&name(group), &names(with), after(rollout, at(60)))
}

#[test]
fn a_declaration_is_a_change_that_steps_nobody() {
    let next = declare(&town(), "B", &["R", "not-here-yet"]).unwrap();
    let group = next.group(&name("B")).unwrap();
    assert_eq!(group.compatible_with(), names(&["R", "not-here-yet"]));
    assert_eq!(next.revision(), Revision(11));
    assert_eq!(
        (next.step_revision(), next.draw_revision()),
        (Revision(10), Revision(10))
    );
    assert_eq!(declare(&next, "B", &["R", "not-here-yet"]).unwrap(), next);
    let none = declare(&next, "B", &[]).unwrap();
    assert!(none.group(&name("B")).unwrap().compatible_with().is_empty());
}

#[test]
fn a_declaration_that_cannot_be_is_refused_with_the_reason() {
    let refused = |group: &str, with: &[&str]| declare(&town(), group, with).unwrap_err();
    for (group, with, message) in [
        (
            "B",
            &["A", "B"][..],
            "B cannot be compatible so: it names itself; name other groups",
        ),
        (
            "B",
            &["A", "A"],
            "B cannot be compatible so: it names A twice; name it once",
        ),
    ] {
        assert_eq!(refused(group, with).to_string(), message);
    }
    assert!(matches!(refused("Z", &[]), Refusal::Unknown { .. }));
    let many: Vec<_> = (0..=MAX_COMPATIBLE).map(|n| format!("g{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let why = Incompatible::Many(MAX_COMPATIBLE + 1);
    assert_eq!(
        refused("B", &many),
        Refusal::Compatible {
            group: name("B"),
            why
        }
    );
    let locked = town().lock(after(&town(), at(60)));
    assert_eq!(declare(&locked, "B", &["A"]), Err(Refusal::Locked));
}

#[test]
fn what_a_group_declares_is_checked_when_a_rollout_is_made() {
    let groups = |with: &[&str]| {
        let b = NewGroup::active(name("B"), weight(1)).compatible_with(names(with));
        Rollout::new(Revision(1), at(0), [active("A", 1).stable(), b])
    };
    let made = groups(&["A", "gone"]).unwrap();
    assert_eq!(
        made.group(&name("B")).unwrap().compatible_with(),
        names(&["A", "gone"])
    );
    let error = groups(&["B"]).unwrap_err();
    assert!(matches!(&error, RolloutError::Compatible { .. }), "{error}");
}

#[test]
fn a_declaration_is_kept_through_a_restore_and_a_document() {
    let declared = declare(&town(), "R", &["A"]).unwrap();
    let restored = declared
        .restore(&name("R"), after(&declared, at(61)))
        .unwrap();
    assert_eq!(
        restored.group(&name("R")).unwrap().compatible_with(),
        names(&["A"])
    );
    let read = Rollout::from_document(&restored.to_document()).unwrap();
    assert_eq!(read, restored);
}

#[test]
fn a_document_from_before_there_were_declarations_has_none() {
    let document = town().to_document();
    assert!(
        !document.to_string().contains("compatible_with"),
        "an older release reads it"
    );
    assert_eq!(Rollout::from_document(&document).unwrap(), town());
    let mut later = town().to_document();
    later["groups"][1]["of_a_later_release"] = json!({"a": [1]});
    assert_eq!(Rollout::from_document(&later).unwrap(), town());
}

#[test]
fn a_document_with_a_declaration_that_cannot_be_is_refused() {
    for wrong in [
        json!(["A"]),
        json!(["a b"]),
        json!(["Q", "Q"]),
        json!("A"),
        json!(null),
    ] {
        let mut document = town().to_document();
        document["groups"][0]["compatible_with"] = wrong.clone();
        assert!(
            Rollout::from_document(&document).is_err(),
            "{wrong} was accepted"
        );
    }
}
