//! Everything that an application says about its session on one answer.

use http::Extensions;

use super::Signal;

/// Everything that was said on one answer, in headers and by a handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// [`Signal::End`].
    pub(crate) end: bool,
    /// [`Signal::Release`].
    pub(crate) release: bool,
    /// [`Signal::MovedSeen`].
    pub(crate) moved_seen: bool,
}

impl Said {
    /// Takes what was said out of an answer.
    pub(crate) fn take(extensions: &mut Extensions) -> Self {
        let said = extensions.remove::<Self>().unwrap_or_default();
        match extensions.remove::<Signal>() {
            Some(signal) => said.and(signal),
            None => said,
        }
    }

    pub(super) fn and(mut self, signal: Signal) -> Self {
        match signal {
            Signal::End => self.end = true,
            Signal::Release => self.release = true,
            Signal::MovedSeen => self.moved_seen = true,
        }
        self
    }
}
