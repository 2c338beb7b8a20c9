//! Everything that an answer says about its session.

use http::Extensions;
use http::header::{HeaderMap, HeaderValue};
use tower_affinity_core::{Outcomes, Said};

use super::{OUTCOME, Outcome, SESSION, Signal};

/// Takes what was said, in headers and by a handler, out of an answer.
pub(crate) fn take(extensions: &mut Extensions) -> Said {
    if extensions.is_empty() {
        return Said::default();
    }
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
    for signal in Signal::ALL.into_iter().filter(|one| one.is_said(said)) {
        headers.append(SESSION, HeaderValue::from_static(signal.as_str()));
    }
    let outcomes = Outcome::ALL.into_iter();
    for outcome in outcomes.filter(|one| said.outcomes.contains(one.flag())) {
        headers.append(OUTCOME, HeaderValue::from_static(outcome.as_str()));
    }
}

/// Leaves what a handler says along with what was said before.
#[cfg(feature = "axum")]
pub(crate) fn signal(extensions: &mut Extensions, signal: Signal) {
    note(extensions, and(Said::default(), signal));
}

/// As [`signal`], of the flow's outcome.
#[cfg(feature = "axum")]
pub(crate) fn outcome(extensions: &mut Extensions, outcome: Outcome) {
    note(extensions, with(Said::default(), outcome.flag()));
}

/// Leaves `news` along with what was said before.
pub(super) fn note(extensions: &mut Extensions, news: Said) {
    let said = extensions.get_or_insert_default::<Said>();
    *said = Said {
        end: said.end || news.end,
        release: said.release || news.release,
        moved_seen: said.moved_seen || news.moved_seen,
        outcomes: said.outcomes.and(news.outcomes),
    };
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
