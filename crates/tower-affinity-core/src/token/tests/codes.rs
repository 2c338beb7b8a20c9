//! The opaque codes of groups.

use super::super::{CodeCollision, GroupCodes};
use super::forge::{open, ours, payload, pin};
use crate::fixtures::{after, at, codec, id, lifetimes, name, rollout};
use crate::{GroupCode, GroupRef, MoveCause, PinCodec, Revision, SessionPin};

fn code(codec: &PinCodec, group: &str, generation: u32) -> String {
    let pin = SessionPin {
        group: GroupRef::Known(id(group, generation)),
        ..pin()
    };
    payload(&codec.seal(&pin).token)["grp"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_code_depends_on_the_key_the_service_the_name_and_the_generation() {
    let base = code(&ours(), "A", 1);
    for (row, other) in [
        ("key", code(&codec("checkout", &[("k1", 2)]), "A", 1)),
        ("service", code(&codec("payment", &[("k1", 1)]), "A", 1)),
        ("name", code(&ours(), "B", 1)),
        ("generation", code(&ours(), "A", 2)),
    ] {
        assert_ne!(base, other, "{row}");
    }
    assert_eq!(base, code(&ours(), "A", 1));
    assert_eq!(
        base,
        code(&codec("checkout", &[("other", 1)]), "A", 1),
        "not on the key's id"
    );
    assert_ne!(
        code(&ours(), "A", 11),
        code(&ours(), "A1", 1),
        "name and generation are apart"
    );
}

#[test]
fn the_code_of_a_group_is_the_same_in_every_release() {
    // a change here would make every live session of a rolling upgrade an unknown one
    assert_eq!(code(&ours(), "9f1c2ab", 1), "M9R_P2vY6o05LA");
}

#[test]
fn known_groups_are_resolved_and_others_stay_codes() {
    let moved = pin().moved(
        id("B", 1),
        MoveCause::Gone,
        Revision(11),
        at(0),
        lifetimes(),
    );
    let mut opened = open(&ours().seal(&moved).token).unwrap().pin;
    ours()
        .codes(&rollout(&[("B", 1)]))
        .unwrap()
        .resolve(&mut opened);
    assert_eq!(opened.group, GroupRef::Known(id("B", 1)));
    let from = &opened.last_move.as_ref().unwrap().from;
    assert!(
        matches!(from, GroupRef::Unknown(_)),
        "A is not in this rollout"
    );
    let sealed = ours().seal(&opened).token;
    let mut again = open(&sealed).unwrap().pin;
    ours()
        .codes(&rollout(&[("A", 1), ("B", 1)]))
        .unwrap()
        .resolve(&mut again);
    assert_eq!(
        again.last_move.unwrap().from,
        GroupRef::Known(id("A", 1)),
        "its code is kept"
    );
    assert_eq!(again.group, GroupRef::Known(id("B", 1)));
}

#[test]
fn a_code_of_another_key_or_service_is_unknown() {
    let token = ours().seal(&pin()).token;
    for (row, codec) in [
        ("key", codec("checkout", &[("k1", 2)])),
        ("service", codec("payment", &[("k1", 1)])),
    ] {
        let mut pin = open(&token).unwrap().pin;
        codec
            .codes(&rollout(&[("A", 1)]))
            .unwrap()
            .resolve(&mut pin);
        assert!(matches!(pin.group, GroupRef::Unknown(_)), "{row}");
    }
}

#[test]
fn ids_that_are_remembered_are_resolved_too() {
    let two = rollout(&[("A", 1), ("B", 1)]);
    let request = crate::AbortRequest::default();
    let aborted = two
        .abort(
            &name("B"),
            &request,
            &crate::AlwaysReady,
            after(&two, at(0)),
        )
        .unwrap();
    let restored = aborted.restore(&name("B"), after(&aborted, at(0))).unwrap();
    let codes = ours().codes(&restored).unwrap();
    for generation in [1, 2] {
        let sealed = ours().seal(&SessionPin {
            group: GroupRef::Known(id("B", generation)),
            ..pin()
        });
        let mut opened = open(&sealed.token).unwrap().pin;
        codes.resolve(&mut opened);
        assert_eq!(opened.group, GroupRef::Known(id("B", generation)));
    }
}

#[test]
fn two_ids_with_one_code_are_refused() {
    let mut codes = GroupCodes::default();
    let code = GroupCode::new([1; 10]);
    assert_eq!(codes.insert(code, &id("A", 1)), Ok(()));
    assert_eq!(
        codes.insert(code, &id("A", 1)),
        Ok(()),
        "the same id twice is none"
    );
    assert_eq!(
        codes.insert(code, &id("B", 1)),
        Err(CodeCollision(name("B")))
    );
    assert_eq!(
        codes.insert(code, &id("A", 2)).unwrap_err().to_string(),
        "group A has the same short id as another group"
    );
}
