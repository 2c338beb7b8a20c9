//! [`RetryOutcome`]: what became of the wish to send a request again.

/// What became of one further attempt, or why there was none although it would have done no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryOutcome {
    /// The attempt was answered.
    Success,
    /// The attempt failed as well.
    Failure,
    /// The client went away during the attempt.
    Abandoned,
    /// The request had all its attempts.
    Limit,
    /// The group's budget was spent.
    Budget,
    /// The body had gone out and was not kept.
    NotReplayable,
    /// The time for the request was over.
    Deadline,
    /// The group was aborted in the meantime.
    Aborted,
    /// No endpoint was left that could be tried.
    NoEndpoint,
}

impl RetryOutcome {
    /// All outcomes, for closed label sets.
    pub(crate) const ALL: [Self; 9] = [
        Self::Success,
        Self::Failure,
        Self::Abandoned,
        Self::Limit,
        Self::Budget,
        Self::NotReplayable,
        Self::Deadline,
        Self::Aborted,
        Self::NoEndpoint,
    ];

    /// The word in labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Abandoned => "abandoned",
            Self::Limit => "limit",
            Self::Budget => "budget",
            Self::NotReplayable => "not_replayable",
            Self::Deadline => "deadline",
            Self::Aborted => "aborted",
            Self::NoEndpoint => "no_endpoint",
        }
    }
}
