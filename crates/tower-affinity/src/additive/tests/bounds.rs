//! What is not carried.

use std::collections::BTreeMap;

use metrics_util::debugging::DebuggingRecorder;
use serde_json::{Value, json};

use super::{Additive, Old};
use crate::fixtures::taken;

/// Reads a payload with one more field, and says what is carried, dropped and written again.
fn through(more: &Value) -> (usize, usize, Value) {
    let stored = json!({"step": 1, "more": more, "name": "Ada", "last": 1});
    let text = stored.to_string();
    let old: Additive<Old> = serde_json::from_str(&text).unwrap();
    assert_eq!((old.step, old.name.as_str()), (1, "Ada"), "{text:.80}");
    let written = serde_json::to_value(&old).unwrap();
    (old.carried(), old.dropped(), written)
}

#[test]
fn beyond_the_limit_all_unknown_fields_are_dropped_and_the_known_ones_kept() {
    let limit = Additive::<Old>::LIMIT;
    let too_much = [
        json!("x".repeat(limit)),
        json!(vec![0; limit]),
        json!(
            (0..limit)
                .map(|n| (n.to_string(), n))
                .collect::<BTreeMap<_, _>>()
        ),
        json!(["x".repeat(limit), "small"]),
        json!({"x".repeat(limit): {"deep": [1, 2, 3]}}),
    ];
    for more in too_much {
        let (carried, dropped, written) = through(&more);
        assert_eq!((carried, dropped), (0, 2), "{more:.80}");
        assert_eq!(written, json!({"step": 1, "name": "Ada"}));
    }
    let (carried, dropped, written) = through(&json!("x".repeat(limit * 3 / 4)));
    assert_eq!((carried, dropped), (2, 0));
    assert_eq!(written["more"].as_str().map(str::len), Some(limit * 3 / 4));
}

#[test]
fn fields_of_which_each_is_small_are_too_many_in_the_end() {
    let limit = Additive::<Old>::LIMIT;
    let fields = (0..limit).map(|n| (format!("f{n}"), json!(n)));
    let text = Value::Object(fields.collect()).to_string();
    let old: Additive<Old> = serde_json::from_str(&text).unwrap();
    assert_eq!((old.carried(), old.dropped()), (0, limit));
}

#[test]
fn a_name_that_is_longer_than_all_there_is_room_for_is_not_carried() {
    let text = format!(r#"{{"{}":1,"step":5}}"#, "n".repeat(Additive::<Old>::LIMIT));
    let old: Additive<Old> = serde_json::from_str(&text).unwrap();
    assert_eq!((old.step, old.carried(), old.dropped()), (5, 0, 1));
}

#[test]
fn what_is_nested_too_deep_is_dropped_and_overflows_nothing() {
    let nested = |depth: usize| {
        let text = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        serde_json::from_str::<Value>(&text).unwrap()
    };
    assert_eq!(through(&nested(30)).0, 2);
    assert_eq!(
        through(&nested(40)),
        (0, 2, json!({"step": 1, "name": "Ada"}))
    );
    // as deep as a struct of its own could still be read without optimisation
    let mut packed = vec![0x81, 0xa4];
    packed.extend(b"more");
    packed.extend([0x91; 200]);
    packed.push(1);
    let old: Additive<Old> = rmp_serde::from_slice(&packed).unwrap();
    assert_eq!((old.carried(), old.dropped()), (0, 1));
}

#[test]
fn what_was_dropped_is_counted() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        through(&json!("small"));
        through(&json!("x".repeat(Additive::<Old>::LIMIT)));
    });
    let expected = [("affinity_session_fields_dropped_total{}".to_owned(), 2.0)];
    assert_eq!(taken(&seen), expected.into());
}

#[test]
fn what_is_no_struct_with_named_fields_is_refused_both_ways() {
    type Fields = BTreeMap<String, u32>;
    #[derive(Default, serde::Serialize, serde::Deserialize)]
    struct Flat {
        step: u32,
        #[serde(flatten)]
        rest: Fields,
    }
    #[derive(Debug, serde::Serialize, serde::Deserialize)]
    enum Either {
        Left { step: u32 },
    }
    let says_why = |text: String| assert!(text.contains("a struct with named fields"), "{text}");
    let text = r#"{"step":1}"#;
    says_why(
        serde_json::from_str::<Additive<Fields>>(text)
            .unwrap_err()
            .to_string(),
    );
    says_why(
        serde_json::from_str::<Additive<Flat>>(text)
            .map(drop)
            .unwrap_err()
            .to_string(),
    );
    says_why(
        serde_json::from_str::<Additive<Either>>(text)
            .unwrap_err()
            .to_string(),
    );
    says_why(
        serde_json::from_str::<Additive<u32>>("1")
            .unwrap_err()
            .to_string(),
    );
    says_why(
        serde_json::to_string(&Additive::new(Fields::new()))
            .unwrap_err()
            .to_string(),
    );
    says_why(
        serde_json::to_string(&Additive::new(Flat::default()))
            .unwrap_err()
            .to_string(),
    );
    let left = Either::Left { step: 1 };
    says_why(
        serde_json::to_string(&Additive::new(left))
            .unwrap_err()
            .to_string(),
    );
    says_why(
        serde_json::to_string(&Additive::new(1))
            .unwrap_err()
            .to_string(),
    );
}

#[test]
fn a_payload_that_is_no_object_or_does_not_fit_is_an_error_and_no_panic() {
    for bad in [
        "[]",
        "1",
        "null",
        r#"{"step":"one"}"#,
        r#"{"step":1"#,
        r#"{"step":1,"step":2}"#,
    ] {
        assert!(serde_json::from_str::<Additive<Old>>(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_user_s_values_are_not_in_debug_output() {
    let text = r#"{"step":1,"card":"4111 1111"}"#;
    let old: Additive<Old> = serde_json::from_str(text).unwrap();
    let shown = format!("{old:?}");
    assert!(
        shown.contains("carried: 1") && !shown.contains("4111"),
        "{shown}"
    );
}
