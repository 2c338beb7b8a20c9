//! What is counted of inputs that are followed.

use metrics::Label;

use super::names;
use super::recorder::Recorder;

/// Something that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The file of the rollout.
    Rollout,
    /// The file of the peers' addresses.
    Peers,
    /// The state that gateways share.
    Shared,
}

impl Input {
    /// The word in logs and labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Peers => "peers",
            Self::Shared => "shared",
        }
    }
}

impl Recorder {
    /// New content was refused.
    pub(crate) fn input_rejected(&self, input: Input) {
        let input = Label::from_static_parts("input", input.as_str());
        self.source().count(names::INPUTS_REJECTED, vec![input], 1);
    }
}
