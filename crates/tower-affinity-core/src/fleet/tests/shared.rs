//! The document that replicas share.

use std::collections::BTreeMap;

use crate::fixtures::{name, rollout, service};
use crate::{SharedError, SharedState};

fn state() -> SharedState {
    let endpoints = BTreeMap::from([(name("B"), vec!["127.0.0.1:7003".parse().unwrap()])]);
    SharedState {
        rollout: rollout(&[("A", 90), ("B", 10)]),
        endpoints,
        write: 7,
    }
}

#[test]
fn it_comes_back_as_it_was_written() {
    let text = state().to_document(&service("checkout"));
    let read = SharedState::from_document(&text, &service("checkout")).unwrap();
    assert_eq!(read, state());
}

#[test]
fn a_document_that_is_cut_at_any_byte_is_refused() {
    let text = state().to_document(&service("checkout"));
    for end in 0..text.len() {
        let cut = SharedState::from_document(&text[..end], &service("checkout"));
        assert!(cut.is_err(), "cut at {end}");
    }
}

#[test]
fn what_is_not_ours_is_refused_with_its_reason() {
    let text = state().to_document(&service("checkout"));
    let read = |text: &str| SharedState::from_document(text, &service("checkout")).unwrap_err();
    let other = SharedState::from_document(&text, &service("search")).unwrap_err();
    assert!(
        matches!(other, SharedError::Service(ref said) if said == "checkout"),
        "{other}"
    );
    let newer = read(&text.replacen("\"version\":1", "\"version\":2", 1));
    assert!(matches!(newer, SharedError::Version(2)), "{newer}");
    assert!(matches!(
        read(&" ".repeat(2_000_000)),
        SharedError::Size(2_000_000)
    ));
    assert!(matches!(read("{\"version\":1}"), SharedError::Form(_)));
    let edited = read(&text.replace("\"stable\":\"A\"", "\"stable\":\"B\""));
    assert!(matches!(edited, SharedError::Damaged), "{edited}");
}

#[test]
fn a_document_that_is_changed_at_any_byte_is_refused() {
    let text = state().to_document(&service("checkout")).into_bytes();
    for at in 0..text.len() {
        let mut changed = text.clone();
        changed[at] ^= 1;
        let changed = String::from_utf8(changed).expect("it was ASCII and is");
        let read = SharedState::from_document(&changed, &service("checkout"));
        assert!(read.is_err(), "changed at {at}: {changed}");
    }
}
