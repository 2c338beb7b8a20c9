//! Everything that an answer says about its session.

use http::Extensions;
use tower_affinity_core::{Outcomes, Said};

use super::{Outcome, Signal};

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
