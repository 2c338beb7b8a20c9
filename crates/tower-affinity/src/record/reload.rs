//! Pages that are told to load themselves anew.

use metrics::Label;

use super::names;
use super::recorder::Recorder;

/// Why a page should be loaded anew: a response extension of the state side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reload {
    /// The commit that the request names, or that its session is of, is not served any more.
    GroupGone,
    /// The commit was withdrawn, and the session with it.
    SessionEnded,
    /// Another commit has answered, and answers from now on.
    Moved,
}

impl Reload {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 3] = [Self::GroupGone, Self::SessionEnded, Self::Moved];

    /// The word in the header and in labels; where there is a problem, it is the `type` of that.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::GroupGone => "group-gone",
            Self::SessionEnded => "session-ended",
            Self::Moved => "moved",
        }
    }
}

impl Recorder {
    /// A page was told to load itself anew.
    pub(crate) fn asked_to_reload(&self, reload: Reload) {
        let reason = Label::from_static_parts("reason", reload.as_str());
        self.source().count(names::RELOADS, vec![reason], 1);
    }
}
