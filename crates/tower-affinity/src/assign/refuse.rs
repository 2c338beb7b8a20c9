//! The answers to requests that the rule refuses.

use bytes::Bytes;
use http::header::{HeaderValue, LOCATION};
use http::{Response, StatusCode};
use tower_affinity_core::{Cause, Decision};

use super::settle::Settle;
use crate::problem::{OTHER_COMMIT, OwnAnswer, Problem, misdirected};
use crate::record::Reload;
use crate::wire::{ClearOverride, Visit, WriteBack};

pub(super) fn refusal<R: From<Bytes>>(decision: &Decision, settle: &Settle) -> Response<R> {
    let (problem, detail) = match decision.cause {
        Cause::AbortedEnd => (
            Problem::SessionEnded,
            "the commit of this session was withdrawn; start the flow again",
        ),
        Cause::Gone => (
            Problem::GroupGone,
            "the commit of this session is not served any more; start the flow again",
        ),
        Cause::OverrideNotRoutable => (
            Problem::OverrideNotRoutable,
            "the group of the override is aborted, retired or unknown",
        ),
        Cause::Behind => (
            Problem::StateBehind,
            "the commit of this session is not known here yet; try again",
        ),
        Cause::NotServedHere => (Problem::WrongGroup, OTHER_COMMIT),
        _ => (
            Problem::NoReadyEndpoint,
            "no commit that takes new sessions is ready",
        ),
    };
    let (cause, group) = (decision.cause.as_str(), decision.group_label());
    tracing::debug!(problem = problem.kind(), cause, group, "request refused");
    match problem {
        Problem::SessionEnded | Problem::GroupGone => ended(problem, detail, settle),
        Problem::OverrideNotRoutable => {
            let mut response = problem.response(detail);
            response.extensions_mut().insert(ClearOverride);
            response
        }
        Problem::WrongGroup => misdirected(),
        _ => problem.response(detail),
    }
}

/// The answer of our own path, which has a browser keep an override.
pub(super) fn visited<R: From<Bytes>>(visit: Visit) -> Response<R> {
    if visit == Visit::Invalid {
        return Problem::BadRequest.response("the override is expired, or none of this service");
    }
    let mut response = Response::new(R::from(Bytes::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    let start = HeaderValue::from_static("/");
    response.headers_mut().insert(LOCATION, start);
    response.extensions_mut().insert(OwnAnswer);
    response
}

/// A session that we ended: its pin is cleared, and a page can begin anew.
fn ended<R: From<Bytes>>(problem: Problem, detail: &'static str, settle: &Settle) -> Response<R> {
    let restart = settle
        .restart()
        .and_then(|url| HeaderValue::from_str(url).ok());
    let mut response = match restart {
        Some(url) => {
            let mut response = Response::new(R::from(Bytes::new()));
            *response.status_mut() = StatusCode::SEE_OTHER;
            response.headers_mut().insert(LOCATION, url);
            response.extensions_mut().insert(OwnAnswer);
            response
        }
        None => {
            let mut response = problem.response(detail);
            response.extensions_mut().insert(match problem {
                Problem::SessionEnded => Reload::SessionEnded,
                _ => Reload::GroupGone,
            });
            response
        }
    };
    response.extensions_mut().insert(WriteBack::Clear);
    response
}
