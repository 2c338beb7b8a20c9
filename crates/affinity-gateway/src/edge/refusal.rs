//! Our own answers.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use tower_affinity::Problem;

/// A request that is answered here.
///
/// Every detail is a fixed text: what a client sent is never repeated to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) detail: &'static str,
}

impl Refusal {
    pub(super) const fn bad_request(detail: &'static str) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            detail,
        }
    }

    pub(crate) fn answer<R: From<Bytes>>(self) -> Response<R> {
        let mut response = Problem::BadRequest.response_with(self.status, self.detail);
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
