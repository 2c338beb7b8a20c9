//! Any object comes through.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Additive, Old};

/// Any JSON, with decimals that every reader gets right to the last bit.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    // the names that the struct knows come as well, though with what may not fit
    let name = prop_oneof![any::<String>(), "[a-z]{1,3}"];
    prop::collection::btree_map(name, value(), 0..8).prop_map(|fields| fields.into_iter().collect())
}

proptest! {
    #[test]
    fn any_object_survives_a_change_by_a_release_that_does_not_know_it(
        fields in object(), step: u32, name: String, next: u32,
    ) {
        let mut stored = fields;
        stored.insert("step".to_owned(), json!(step));
        stored.insert("name".to_owned(), json!(name));
        let mut expected = stored.clone();
        expected.insert("step".to_owned(), json!(next));
        let stored = Value::Object(stored);

        let through_text = stored.to_string();
        let mut old: Additive<Old> = serde_json::from_str(&through_text).unwrap();
        prop_assert_eq!(old.dropped(), 0);
        prop_assert_eq!((old.step, &old.name), (step, &name));
        old.step = next;
        let written = serde_json::to_string(&old).unwrap();
        let read: Value = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(&read, &Value::Object(expected.clone()));

        // as a store of `tower-sessions` holds it
        let mut old: Additive<Old> = serde_json::from_value(stored.clone()).unwrap();
        old.step = next;
        prop_assert_eq!(&serde_json::to_value(&old).unwrap(), &Value::Object(expected.clone()));

        let packed = rmp_serde::to_vec(&stored).unwrap();
        let mut old: Additive<Old> = rmp_serde::from_slice(&packed).unwrap();
        old.step = next;
        let read: Value = rmp_serde::from_slice(&rmp_serde::to_vec(&old).unwrap()).unwrap();
        prop_assert_eq!(&read, &Value::Object(expected));
    }

    #[test]
    fn any_text_is_a_payload_or_an_error(text: String) {
        drop(serde_json::from_str::<Additive<Old>>(&text));
    }

    #[test]
    fn any_bytes_are_a_payload_or_an_error(bytes: Vec<u8>) {
        drop(rmp_serde::from_slice::<Additive<Old>>(&bytes));
    }
}
