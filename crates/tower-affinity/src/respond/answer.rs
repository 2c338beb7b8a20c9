//! Which answer an error becomes.

use std::error::Error;

use bytes::Bytes;
use http::Response;

use super::fault::UpstreamFault;
use crate::BoxError;
use crate::balance::Unserved;
use crate::problem::{NOT_SET_UP, Problem};

/// What is answered for an error of somebody else's, if it is known.
pub(crate) type Foreign = fn(&(dyn Error + 'static)) -> Option<Problem>;

/// What is to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    problem: Problem,
    detail: &'static str,
}

impl Answer {
    /// The answer to `error`: the first thing known among it and its sources decides.
    pub(crate) fn to(error: &BoxError, foreign: Foreign) -> Self {
        let error: &(dyn Error + 'static) = &**error;
        let (mut known, mut next) = (None, Some(error));
        while let (None, Some(error)) = (known, next) {
            let unserved = error.downcast_ref().map(Self::unserved);
            known = unserved
                .or_else(|| error.downcast_ref().map(Self::upstream))
                .or_else(|| foreign(error).map(Self::foreign));
            next = error.source();
        }
        let answer = known.unwrap_or(Self {
            problem: Problem::UpstreamError,
            detail: "the request could not be served; whether it was carried out is not known",
        });
        tracing::debug!(error, problem = answer.problem.kind(), "request failed");
        answer
    }

    pub(crate) fn response<R: From<Bytes>>(self) -> Response<R> {
        self.problem.response(self.detail)
    }

    fn foreign(problem: Problem) -> Self {
        Self {
            problem,
            detail: problem.title(),
        }
    }

    fn unserved(unserved: &Unserved) -> Self {
        let (problem, detail) = match unserved {
            Unserved::NoDecision => (Problem::Internal, NOT_SET_UP),
            Unserved::NoReadyEndpoint(_) => (
                Problem::NoReadyEndpoint,
                "the commit of this session has no ready endpoint at the moment; try again",
            ),
            Unserved::Capacity(_) => (
                Problem::Capacity,
                "the commit of this session has no room at the moment; try again",
            ),
            Unserved::WrongGroup(_) => (
                Problem::WrongGroup,
                "the request reached another commit than that of the session; try again",
            ),
        };
        Self { problem, detail }
    }

    fn upstream(fault: &UpstreamFault) -> Self {
        let (problem, detail) = match fault {
            UpstreamFault::Timeout => (
                Problem::UpstreamTimeout,
                "the endpoint did not answer in time; whether it carried out the request is not known",
            ),
            UpstreamFault::Connect => (
                Problem::UpstreamError,
                "the endpoint could not be reached; the request was not carried out",
            ),
            UpstreamFault::Unsent => (
                Problem::UpstreamError,
                "the endpoint did not take the request; it was not carried out",
            ),
            UpstreamFault::Closed => (
                Problem::UpstreamError,
                "the endpoint broke off; whether it carried out the request is not known",
            ),
            UpstreamFault::Protocol => (
                Problem::UpstreamError,
                "the endpoint's answer is not valid; whether it carried out the request is not known",
            ),
            UpstreamFault::Declined => (
                Problem::UpstreamError,
                "the endpoint does not serve what was asked for; asking again does not help",
            ),
            UpstreamFault::RequestBody => {
                (Problem::BadRequest, "the body of the request ended early")
            }
        };
        Self { problem, detail }
    }
}
