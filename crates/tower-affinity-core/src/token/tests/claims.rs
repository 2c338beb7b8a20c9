//! Claims of a wrong type, missing, doubled, or from another release.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::forge::{claims, forged, header, open, ours, payload, signed, with};
use crate::fixtures::{at, id, lifetimes, rollout, secret};
use crate::{Fault, GroupRef, MAX_TOKEN, MoveCause, Outcomes, Revision};

const NUMBERS: [&str; 5] = ["sst", "iat", "exp", "rev", "arv"];
const REQUIRED: [&str; 9] = ["aud", "sid", "grp", "sst", "iat", "exp", "rev", "arv", "mv"];

#[test]
fn sec_17_every_required_claim_is_required() {
    for claim in REQUIRED {
        let mut without = claims();
        without.as_object_mut().unwrap().remove(claim).unwrap();
        assert_eq!(
            open(&forged(&header(), &without)),
            Err(Fault::Malformed),
            "without {claim}"
        );
        let null = forged(&header(), &with(claim, Value::Null));
        assert_eq!(open(&null), Err(Fault::Malformed), "{claim}: null");
    }
    assert_eq!(
        claims().as_object().unwrap().len(),
        REQUIRED.len(),
        "these are all that we write"
    );
}

#[test]
fn sec_17_numbers_are_whole_and_not_negative() {
    for claim in NUMBERS.into_iter().chain(["mv"]) {
        for wrong in [
            json!("never"),
            json!("1800000000"),
            json!(-1),
            json!(1.5),
            json!(1e30),
            json!(true),
            json!([1]),
            json!({"a": 1}),
        ] {
            let token = forged(&header(), &with(claim, wrong.clone()));
            assert_eq!(open(&token), Err(Fault::Malformed), "{claim}: {wrong}");
        }
        for raw in [
            "1e400",
            "NaN",
            "Infinity",
            "-0.0",
            "01",
            "18446744073709551616",
            "0x10",
        ] {
            let text = with(claim, json!("@")).to_string().replace("\"@\"", raw);
            let token = signed(&header().to_string(), &text, &secret(1), Algorithm::HS256);
            assert_eq!(open(&token), Err(Fault::Malformed), "{claim}: {raw}");
        }
    }
}

#[test]
fn sec_17_texts_are_texts() {
    for claim in ["aud", "sid", "grp"] {
        for wrong in [
            json!(1),
            json!(["checkout"]),
            json!({"a": "checkout"}),
            json!(false),
        ] {
            let token = forged(&header(), &with(claim, wrong.clone()));
            assert_eq!(open(&token), Err(Fault::Malformed), "{claim}: {wrong}");
        }
    }
    for (claim, wrong) in [
        ("sid", ""),
        ("sid", "short"),
        ("sid", "AAAAAAAAAAAAAAAAAAAAAAB"),
        ("sid", "AAAAAAAAAAAAAAAAAAAAAB"),
        ("grp", ""),
        ("grp", "A"),
        ("grp", "AAAAAAAAAAAAAAA"),
        ("grp", "AAAAAAAAAAAAA="),
    ] {
        let token = forged(&header(), &with(claim, json!(wrong)));
        assert_eq!(open(&token), Err(Fault::Malformed), "{claim}: {wrong:?}");
    }
}

#[test]
fn sec_17_optional_claims_are_typed_too() {
    for (claim, wrong) in [
        ("nbf", json!("1")),
        ("nbf", json!(null)),
        ("nbf", json!(-1)),
        ("fx", json!("true")),
        ("fx", json!(1)),
        ("fx", json!(null)),
        ("rl", json!("true")),
        ("rl", json!(0)),
        ("rl", json!(null)),
        ("out", json!("1")),
        ("out", json!(null)),
        ("out", json!(true)),
        ("out", json!(-1)),
        ("out", json!(1.5)),
        ("out", json!(65_536)),
        ("mf", json!("AAAAAAAAAAAAAA")),
        ("mt", json!(1)),
        ("mc", json!("gone")),
        ("mc", json!(null)),
    ] {
        let token = forged(&header(), &with(claim, wrong.clone()));
        assert_eq!(open(&token), Err(Fault::Malformed), "{claim}: {wrong}");
    }
}

#[test]
fn outcomes_of_a_later_release_are_issued_again() {
    let opened = open(&forged(&header(), &with("out", json!(0x4001))))
        .unwrap()
        .pin;
    assert!(opened.outcomes.contains(Outcomes::FAILED));
    let renewed = opened.renewed(opened.revision, at(700), lifetimes());
    let moved = renewed.moved(
        id("B", 1),
        MoveCause::Gone,
        Revision(12),
        at(701),
        lifetimes(),
    );
    for (what, pin) in [("renewed", &renewed), ("moved", &moved)] {
        let claims = payload(&ours().seal(pin).token);
        assert_eq!(claims["out"], 0x4001, "{what}");
    }
    let none = payload(
        &ours()
            .seal(&open(&super::forge::token()).unwrap().pin)
            .token,
    );
    assert_eq!(none.get("out"), None, "none are not written");
}

#[test]
fn sec_17_not_before_is_obeyed() {
    let nbf = |secs| open(&forged(&header(), &with("nbf", json!(at(secs).as_secs()))));
    assert!(nbf(0).is_ok());
    assert!(nbf(301).is_ok(), "within the skew that is allowed");
    assert_eq!(nbf(302), Err(Fault::FromFuture));
}

#[test]
fn sec_18_a_claim_is_given_once() {
    let text = claims().to_string();
    for claim in REQUIRED {
        let value = claims()[claim].to_string();
        let twice = text.replacen('{', &format!("{{\"{claim}\":{value},"), 1);
        let token = signed(&header().to_string(), &twice, &secret(1), Algorithm::HS256);
        assert_eq!(open(&token), Err(Fault::Malformed), "{claim} twice");
    }
    for twice in [
        r#"{"zz":1,"zz":2,"#,
        r#"{"fx":true,"fx":true,"#,
        r#"{"out":1,"out":1,"#,
        r#"{"nbf":1,"nbf":1,"#,
    ] {
        let text = text.replacen('{', twice, 1);
        let token = signed(&header().to_string(), &text, &secret(1), Algorithm::HS256);
        assert_eq!(open(&token), Err(Fault::Malformed), "{twice}");
    }
    // an escape in a name does not make it another one
    let escaped = text.replacen('{', r#"{"\u0065xp":9999999999,"#, 1);
    let token = signed(
        &header().to_string(),
        &escaped,
        &secret(1),
        Algorithm::HS256,
    );
    assert_eq!(open(&token), Err(Fault::Malformed));
}

#[test]
fn sec_18_claims_that_are_no_flat_table_are_refused() {
    let deep = format!("{}1{}", "[".repeat(140), "]".repeat(140));
    let deep_in_table = format!("{{\"a\":{}}}", "[".repeat(250));
    for text in [
        "",
        "null",
        "[]",
        "\"text\"",
        "1",
        "{",
        "{}",
        "{}{}",
        &deep,
        &deep_in_table,
    ] {
        let token = signed(&header().to_string(), text, &secret(1), Algorithm::HS256);
        assert!(
            token.len() <= MAX_TOKEN,
            "the test would only see a token that is too long"
        );
        assert_eq!(open(&token), Err(Fault::Malformed), "{text}");
    }
    let trailing = format!("{} x", claims());
    let token = signed(
        &header().to_string(),
        &trailing,
        &secret(1),
        Algorithm::HS256,
    );
    assert_eq!(open(&token), Err(Fault::Malformed));
    let nested = signed(
        &header().to_string(),
        &super::forge::token(),
        &secret(1),
        Algorithm::HS256,
    );
    assert!(open(&nested).is_err(), "a token in a token");
}

#[test]
fn sec_12_sec_20_a_group_that_is_not_in_the_rollout_stays_unknown() {
    let codes = ours().codes(&rollout(&[("B", 1)])).unwrap();
    let mut pin = open(&super::forge::token()).unwrap().pin;
    codes.resolve(&mut pin);
    assert!(matches!(pin.group, GroupRef::Unknown(_)));
    assert_eq!(
        pin.group.label(),
        "unknown",
        "the label is never what the client sent"
    );
}

#[test]
fn claims_of_another_release_survive_a_renewal() {
    let mut claims = claims();
    for (claim, value) in [
        ("out", json!(3)),
        ("zz", json!({"checkout": ["b", 1, null]})),
        ("é", json!("ü\n")),
        ("rl", json!(true)),
    ] {
        claims[claim] = value;
    }
    let pin = open(&forged(&header(), &claims)).unwrap().pin;
    assert!(!pin.unknown.is_empty());
    let sealed = ours().seal(&pin.renewed(Revision(11), at(900), lifetimes()));
    assert!(!sealed.dropped_unknown);
    let renewed = payload(&sealed.token);
    for claim in ["out", "zz", "é", "rl"] {
        assert_eq!(renewed[claim], claims[claim], "{claim}");
    }
    assert_eq!(renewed["rev"], json!(11));
}

#[test]
fn claims_that_bind_a_token_to_a_moment_are_not_carried_over() {
    let mut claims = claims();
    claims["nbf"] = json!(1);
    claims["jti"] = json!("once");
    claims["crit"] = json!(["x"]);
    let pin = open(&forged(&header(), &claims)).unwrap().pin;
    assert!(pin.unknown.is_empty(), "{:?}", pin.unknown);
    let renewed = payload(&ours().seal(&pin).token);
    for claim in ["nbf", "jti", "crit"] {
        assert_eq!(renewed.get(claim), None, "{claim}");
    }
}

#[test]
fn unknown_claims_are_dropped_and_ours_kept_where_both_do_not_fit() {
    let room = MAX_TOKEN - super::forge::token().len();
    let fits = with("zz", json!("x".repeat(room * 3 / 4 - 10)));
    let token = forged(&header(), &fits);
    assert!(token.len() <= MAX_TOKEN, "{} bytes", token.len());
    let pin = open(&token).unwrap().pin;
    let kept = ours().seal(&pin);
    assert!(!kept.dropped_unknown);
    // a move adds claims of ours, and there is no room for both
    let moved = pin.moved(
        id("B", 1),
        MoveCause::Aborted,
        Revision(11),
        at(5),
        lifetimes(),
    );
    let dropped = ours().seal(&moved);
    assert!(dropped.dropped_unknown && dropped.token.len() <= MAX_TOKEN);
    let opened = open(&dropped.token).unwrap().pin;
    assert!(opened.unknown.is_empty());
    assert_eq!(
        (opened.moves, opened.last_move.unwrap().cause.known()),
        (1, Some(MoveCause::Aborted))
    );
}

#[test]
fn a_later_releases_cause_of_a_move_is_kept_and_told() {
    let moved = |cause: &str| {
        let mut claims = with("mf", json!("AAAAAAAAAAAAAA"));
        claims["mt"] = json!(at(0).as_secs());
        claims["mc"] = json!(cause);
        open(&forged(&header(), &claims)).unwrap().pin
    };
    let pin = moved("rebalanced");
    let last = pin.last_move.clone().unwrap();
    assert_eq!(
        (last.cause.as_str(), last.cause.known()),
        ("rebalanced", None)
    );
    let again = payload(&ours().seal(&pin).token);
    assert_eq!(again["mc"], "rebalanced");
    for known in MoveCause::ALL {
        let cause = moved(known.as_str()).last_move.unwrap().cause;
        assert_eq!(cause.known(), Some(known));
    }
    for no_word in ["", "Aborted", "a b", "x; y", "abcdefghijklmnopq"] {
        assert_eq!(moved(no_word).last_move, None, "{no_word:?}");
    }
}

#[test]
fn a_released_session_says_so_in_a_claim() {
    let pin = super::forge::pin();
    assert_eq!(payload(&ours().seal(&pin).token).get("rl"), None);
    let token = ours().seal(&pin.released()).token;
    assert_eq!(payload(&token)["rl"], true);
    assert!(open(&token).unwrap().pin.released);
}

#[test]
fn a_new_session_takes_over_no_claims() {
    assert!(super::forge::pin().unknown.is_empty());
}
