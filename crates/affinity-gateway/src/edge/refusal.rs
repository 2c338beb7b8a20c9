//! Our own answers.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use tower_affinity::Problem;

/// A request that is answered here.
///
/// Every detail is a fixed text: what a client sent is never repeated to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) problem: Problem,
    pub(crate) status: StatusCode,
    pub(crate) detail: &'static str,
}

impl Refusal {
    pub(super) const fn bad_request(detail: &'static str) -> Self {
        Self::bad(StatusCode::BAD_REQUEST, detail)
    }

    /// A request that is at fault itself.
    pub(crate) const fn bad(status: StatusCode, detail: &'static str) -> Self {
        Self {
            problem: Problem::BadRequest,
            status,
            detail,
        }
    }

    /// A request that would be one too many.
    pub(super) const fn overloaded() -> Self {
        Self {
            problem: Problem::Overloaded,
            status: Problem::Overloaded.status(),
            detail: "The gateway serves as many requests as it may.",
        }
    }

    pub(crate) fn answer<R: From<Bytes>>(self) -> Response<R> {
        let mut response = self.problem.response_with(self.status, self.detail);
        let headers = response.headers_mut();
        // 405 and 414 may be stored by default, and no visitor should meet another's mistake.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(
                header::ALLOW,
                HeaderValue::from_static("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"),
            );
        }
        response
    }
}
