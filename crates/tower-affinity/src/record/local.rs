//! What is counted of sessions' values in this process.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, Key, Label};

use super::names;
use super::recorder::Recorder;
use super::source::{Kept, Source};

/// Why a session's value in this process was let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LocalEnd {
    /// Its session was not seen for the idle timeout.
    Idle,
    /// There was no room, and it was nearest its end.
    Capacity,
    /// The application took it.
    Removed,
}

impl LocalEnd {
    /// All of them, for closed label sets.
    pub(super) const ALL: [Self; 3] = [Self::Idle, Self::Capacity, Self::Removed];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Capacity => "capacity",
            Self::Removed => "removed",
        }
    }
}

/// The series of values in this process: few, since no label is a client's.
#[derive(Default)]
pub(super) struct LocalSeries {
    held: Kept<Gauge>,
    ended: [Kept<Counter>; LocalEnd::ALL.len()],
}

impl Recorder {
    /// One more value is held. `false` if there was nothing to count it: then it must not leave.
    pub(crate) fn local_held(&self) -> bool {
        let held = &self.local().held;
        let key = || Key::from_static_name(names::LOCAL);
        held.with(self.source(), key, |gauge| gauge.increment(1.0));
        held.get().is_some()
    }

    /// One that was counted is not held any more.
    pub(crate) fn local_left(&self) {
        if let Some(gauge) = self.local().held.get() {
            gauge.decrement(1.0);
        }
    }

    pub(crate) fn local_ended(&self, end: LocalEnd, count: u64) {
        if let Some(handle) = self.local().ended.get(end as usize) {
            let reason = || vec![Label::from_static_parts("reason", end.as_str())];
            let key = || Key::from_parts(names::LOCAL_ENDED, reason());
            handle.with(self.source(), key, |counter| counter.increment(count));
        }
    }
}

/// Fields of a payload were not carried. Into the global recorder, since payloads are read wherever
/// `serde` is called.
pub(crate) fn fields_dropped(count: u64) {
    static GLOBAL: LazyLock<Source> = LazyLock::new(Source::default);
    GLOBAL.count(names::FIELDS_DROPPED, Vec::new(), count);
}
