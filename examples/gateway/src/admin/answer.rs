//! [`Answer`]: what an admin side said, and the exit code that follows from it.

use http::{StatusCode, header::CONTENT_TYPE, response::Parts};
use hyper::body::Bytes;
use serde::Deserialize;

use super::{place::Place, token};
use crate::exit::{Exit, Failure, Problem};

/// An answer with its body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    kind: String,
    text: String,
}

impl Answer {
    pub(super) fn new(head: &Parts, body: &Bytes) -> Self {
        let kind = head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let kind = kind
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default();
        Self {
            status: head.status,
            kind: kind.trim().to_ascii_lowercase(),
            text: String::from_utf8_lossy(body).into_owned(),
        }
    }

    /// Itself if it says that the call was done, else why not.
    pub(super) fn check(self, place: &Place) -> Result<Self, Failure> {
        if self.status.is_success() && self.kind == "application/json" {
            return Ok(self);
        }
        let problem = serde_json::from_str::<Problem>(&self.text).ok();
        match problem.filter(|_| self.kind == "application/problem+json") {
            Some(problem) => Err(self.failure(problem)),
            None => {
                let detail = format!("{place} answered {} and is no admin side", self.status);
                Err(Failure::new(Exit::Failed, "no-admin-side", detail)
                    .advice("name the gateway's listen.admin with --admin http://HOST:PORT"))
            }
        }
    }

    fn failure(&self, problem: Problem) -> Failure {
        let forced = problem.can_be_forced == Some(true);
        let (exit, advice) = match self.status {
            StatusCode::UNAUTHORIZED => (Exit::Failed, Some(token::ADVICE)),
            StatusCode::CONFLICT if forced => (
                Exit::Refused,
                Some("repeat it with --force to do it all the same"),
            ),
            StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => (Exit::Refused, None),
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => (Exit::Usage, None),
            _ => (Exit::Failed, None),
        };
        Failure {
            exit,
            problem: Box::new(problem),
            advice: advice.map(str::to_owned),
        }
    }

    /// The JSON as it came.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The JSON as a type.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Failure> {
        serde_json::from_str(&self.text).map_err(|error| {
            let detail = format!("the admin side's answer cannot be read: {error}");
            Failure::new(Exit::Failed, "strange-answer", detail)
                .advice("use the release of the gateway; --json shows the answer as it came")
        })
    }
}
