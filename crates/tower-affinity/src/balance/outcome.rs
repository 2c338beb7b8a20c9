//! [`Outcome`]: what became of one attempt at an endpoint.

use http::StatusCode;

use crate::BoxError;
use crate::respond::UpstreamFault;

/// What became of one attempt, as far as it says something about the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It answered with this status.
    Answered(StatusCode),
    /// It could not be reached: nothing was sent.
    Unreached,
    /// It did not answer in time.
    TimedOut,
    /// It broke off, or what it answered is not valid.
    BrokeOff,
    /// It serves another group.
    WrongGroup,
}

impl Outcome {
    /// Whether it counts as a failure of the endpoint. A plain 500 does not: it is the
    /// application's, and most often that of the request.
    pub(super) fn is_failure(self) -> bool {
        match self {
            Self::Answered(status) => matches!(
                status,
                StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            ),
            Self::Unreached | Self::TimedOut | Self::BrokeOff | Self::WrongGroup => true,
        }
    }

    /// The word in the log.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::Unreached => "unreached",
            Self::TimedOut => "timed_out",
            Self::BrokeOff => "broke_off",
            Self::WrongGroup => "wrong_group",
        }
    }

    /// What `error` of the leaf says of the endpoint; `None` if it was not the endpoint's fault.
    pub(crate) fn of(error: &BoxError) -> Option<Self> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&**error);
        while let Some(error) = cause {
            if let Some(fault) = error.downcast_ref() {
                return match fault {
                    UpstreamFault::Connect => Some(Self::Unreached),
                    UpstreamFault::Timeout => Some(Self::TimedOut),
                    UpstreamFault::Closed | UpstreamFault::Protocol => Some(Self::BrokeOff),
                    UpstreamFault::Unsent
                    | UpstreamFault::Declined
                    | UpstreamFault::RequestBody => None,
                };
            }
            cause = error.source();
        }
        Some(Self::BrokeOff)
    }
}
