//! Everything that an application says about its session on one answer.

use http::Extensions;
use tower_affinity_core::Said;

use super::Signal;

/// Takes what was said, in headers and by a handler, out of an answer.
pub(crate) fn take(extensions: &mut Extensions) -> Said {
    let said = extensions.remove::<Said>().unwrap_or_default();
    match extensions.remove::<Signal>() {
        Some(signal) => and(said, signal),
        None => said,
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
