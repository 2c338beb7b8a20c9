//! The answers to requests that the rule refuses.

use bytes::Bytes;
use http::header::{HeaderValue, LOCATION};
use http::{Response, StatusCode};
use tower_affinity_core::{Cause, Decision};

use super::settle::Settle;
use crate::problem::{OwnAnswer, Problem, misdirected};
use crate::wire::{ClearOverride, Visit, WriteBack};

pub(super) fn refusal<R: From<Bytes>>(decision: &Decision, settle: &Settle) -> Response<R> {
    match decision.cause {
        Cause::AbortedEnd => ended(
            Problem::SessionEnded,
            "the commit of this session was withdrawn; start the flow again",
            settle,
        ),
        Cause::Gone => ended(
            Problem::GroupGone,
            "the commit of this session is not served any more; start the flow again",
            settle,
        ),
        Cause::OverrideNotRoutable => {
            let mut response = Problem::OverrideNotRoutable
                .response("the group of the override is aborted, retired or unknown");
            response.extensions_mut().insert(ClearOverride);
            response
        }
        Cause::Behind => Problem::StateBehind
            .response("the commit of this session is not known here yet; try again"),
        Cause::NotServedHere => {
            misdirected("this process serves another commit than that of the session")
        }
        _ => Problem::NoReadyEndpoint.response("no commit that takes new sessions is ready"),
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
        None => problem.response(detail),
    };
    response.extensions_mut().insert(WriteBack::Clear);
    response
}
