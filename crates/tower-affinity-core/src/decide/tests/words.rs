//! The closed lists of words that headers and labels are made of.

use std::collections::HashSet;

use super::ask::Ask;
use crate::{Cause, Cohort, Fault, Kind, MoveCause};

#[test]
fn the_words_are_those_of_the_rules() {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "assigned",
            "pinned",
            "moved",
            "overridden",
            "bypassed",
            "refused"
        ]
    );
    let cohorts: Vec<&str> = Cohort::ALL.iter().map(|cohort| cohort.as_str()).collect();
    assert_eq!(cohorts, ["none", "current", "established", "moved"]);
}

#[test]
fn no_two_causes_have_one_word_and_none_is_empty() {
    let words: HashSet<&str> = Cause::ALL.iter().map(|cause| cause.as_str()).collect();
    assert_eq!(words.len(), Cause::ALL.len());
    let label = |c: char| c.is_ascii_lowercase() || c == '_';
    for word in words {
        assert!(!word.is_empty() && word.chars().all(label), "{word:?}");
    }
}

#[test]
fn every_word_is_read_again_and_no_other() {
    for kind in Kind::ALL {
        assert_eq!(Kind::parse(kind.as_str()), Some(kind));
    }
    for cause in Cause::ALL {
        assert_eq!(Cause::parse(cause.as_str()), Some(*cause));
    }
    for cohort in Cohort::ALL {
        assert_eq!(Cohort::parse(cohort.as_str()), Some(cohort));
    }
    for word in ["", "Moved", "moved "] {
        assert_eq!(Kind::parse(word), None, "{word:?}");
        assert_eq!(Cause::parse(word), None, "{word:?}");
        assert_eq!(Cohort::parse(word), None, "{word:?}");
    }
}

#[test]
fn a_fault_and_a_move_keep_their_word_as_causes() {
    for (fault, word) in [
        (Fault::Malformed, "malformed"),
        (Fault::Oversize, "oversize"),
        (Fault::ExpiredMax, "expired_max"),
    ] {
        assert_eq!(Cause::from(fault).as_str(), word);
    }
    for cause in MoveCause::ALL {
        assert_eq!(Cause::from(cause).as_str(), cause.as_str());
    }
}

#[test]
fn the_debug_form_of_an_input_shows_no_session_id() {
    let ask = Ask::p("B", 10);
    let text = format!("{:?}", ask.decision());
    let session = ask.decision().session().unwrap();
    assert!(!text.contains(&session.to_string()), "{text}");
}
