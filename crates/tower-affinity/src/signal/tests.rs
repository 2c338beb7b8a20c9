//! What is written is what is read.

use http::HeaderMap;
use tower_affinity_core::Said;

use super::{OUTCOME, Outcome, SESSION, Signal, said};

/// What the headers hold of something that was said.
fn written(said: Said) -> HeaderMap {
    let mut headers = HeaderMap::new();
    said::write(said, &mut headers);
    headers
}

#[test]
fn every_signal_is_written_alone_and_read_again() {
    for signal in Signal::ALL {
        assert_eq!(Signal::parse(signal.as_str().as_bytes()), Some(signal));
        let headers = written(said::and(Said::default(), signal));
        let words: Vec<_> = headers.get_all(SESSION).iter().collect();
        assert_eq!(words, [signal.as_str()], "{signal:?}");
        assert!(!headers.contains_key(OUTCOME), "{signal:?}");
    }
}

#[test]
fn every_outcome_is_written_alone_and_read_again() {
    for outcome in Outcome::ALL {
        assert_eq!(Outcome::parse(outcome.as_str().as_bytes()), Some(outcome));
        let headers = written(said::with(Said::default(), outcome.flag()));
        let words: Vec<_> = headers.get_all(OUTCOME).iter().collect();
        assert_eq!(words, [outcome.as_str()], "{outcome:?}");
        assert!(!headers.contains_key(SESSION), "{outcome:?}");
    }
}

#[test]
fn nothing_said_is_nothing_written_and_no_other_word_is_read() {
    assert!(written(Said::default()).is_empty());
    for word in ["", "END", "ended", "end;", "moved_seen"] {
        assert_eq!(Signal::parse(word.as_bytes()), None, "{word:?}");
        assert_eq!(Outcome::parse(word.as_bytes()), None, "{word:?}");
    }
    assert_eq!(Signal::parse(b"\t end "), Some(Signal::End));
}
