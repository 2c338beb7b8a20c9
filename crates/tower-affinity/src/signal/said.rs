//! Everything that an answer says about its session.

use http::Extensions;
use http::header::{HeaderMap, HeaderValue};
use tower_affinity_core::{Outcomes, Said};

use super::{OUTCOME, Outcome, SESSION, Signal};

/// Takes what was said, in headers and by a handler, out of an answer.
pub(crate) fn take(extensions: &mut Extensions) -> Said {
    let mut said = extensions.remove::<Said>().unwrap_or_default();
    if let Some(signal) = extensions.remove::<Signal>() {
        said = and(said, signal);
    }
    if let Some(outcome) = extensions.remove::<Outcome>() {
        said = with(said, outcome.flag());
    }
    said
}

/// Puts what was said into headers, for a [`SignalLayer`](super::SignalLayer) elsewhere.
pub(crate) fn write(said: Said, headers: &mut HeaderMap) {
    let signals = [
        (said.end, "end"),
        (said.release, "release"),
        (said.moved_seen, "moved-seen"),
    ];
    for (_, word) in signals.into_iter().filter(|(is_said, _)| *is_said) {
        headers.append(SESSION, HeaderValue::from_static(word));
    }
    let outcomes = [
        (Outcomes::COMPLETED, "success"),
        (Outcomes::FAILED, "failure"),
    ];
    for (_, word) in outcomes
        .into_iter()
        .filter(|(flag, _)| said.outcomes.contains(*flag))
    {
        headers.append(OUTCOME, HeaderValue::from_static(word));
    }
}

pub(super) fn and(said: Said, signal: Signal) -> Said {
    match signal {
        Signal::End => Said { end: true, ..said },
        Signal::Release => Said {
            release: true,
            ..said
        },
        Signal::MovedSeen => Said {
            moved_seen: true,
            ..said
        },
    }
}

pub(crate) fn with(said: Said, outcomes: Outcomes) -> Said {
    Said {
        outcomes: said.outcomes.and(outcomes),
        ..said
    }
}
