//! The answers that we make ourselves: problem details (RFC 9457) with a stable `type`.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

mod grpc;

use self::grpc::Told;
pub use self::grpc::{is_grpc, speak_grpc};
pub(crate) use self::grpc::{is_unauthenticated, status_class};

/// Marks a response that we made: no pin is written on it. A response extension.
#[derive(Clone, Copy, Debug)]
pub struct OwnAnswer;

/// Our marker on a 421: the request reached a process that serves another group, and was not
/// carried out.
pub(crate) const MISDIRECTED: HeaderName = HeaderName::from_static("affinity-misdirected");

/// What a client is told of a request for another group than this.
pub(crate) const OTHER_COMMIT: &str = "this is served by another commit than that of the session";

/// The answer of a process that serves another group than was asked for.
pub(crate) fn misdirected<R: From<Bytes>>() -> Response<R> {
    let status = StatusCode::MISDIRECTED_REQUEST;
    let mut response = Problem::WrongGroup.response_with(status, OTHER_COMMIT);
    let marker = HeaderValue::from_static("1");
    response.headers_mut().insert(MISDIRECTED, marker);
    response
}

/// What a client is told with [`Problem::Internal`]; the log says what is wrong.
pub(crate) const NOT_SET_UP: &str = "the service is not set up as it should be";

/// The kinds of errors that we answer with; each is a `type` of the problem details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The group of the session has no ready endpoint here.
    NoReadyEndpoint,
    /// The pin is newer than what this replica knows.
    StateBehind,
    /// The request reached another group than the one that was decided.
    WrongGroup,
    /// The group of the session is gone, and its scope is strict.
    GroupGone,
    /// The group of the session was aborted and its sessions ended.
    SessionEnded,
    /// The group that a tester chose serves nobody.
    OverrideNotRoutable,
    /// The group has no room for the request.
    Capacity,
    /// We have no room for the request.
    Overloaded,
    /// The endpoint did not answer in time.
    UpstreamTimeout,
    /// The endpoint could not be reached, broke off, or its answer is not valid.
    UpstreamError,
    /// The request cannot be forwarded as it is.
    BadRequest,
    /// The service is put together wrongly; no more is told.
    Internal,
}

impl Problem {
    /// The `type` member: stable, for machines.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::NoReadyEndpoint => "no-ready-endpoint",
            Self::StateBehind => "state-behind",
            Self::WrongGroup => "wrong-group",
            Self::GroupGone => "group-gone",
            Self::SessionEnded => "session-ended",
            Self::OverrideNotRoutable => "override-not-routable",
            Self::Capacity => "capacity",
            Self::Overloaded => "overloaded",
            Self::UpstreamTimeout => "upstream-timeout",
            Self::UpstreamError => "upstream-error",
            Self::BadRequest => "bad-request",
            // RFC 9457: no more is to be known than the status says
            Self::Internal => "about:blank",
        }
    }

    /// The status that goes with it, unless the answer has one of its own.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::NoReadyEndpoint
            | Self::StateBehind
            | Self::WrongGroup
            | Self::Capacity
            | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::GroupGone | Self::SessionEnded | Self::OverrideNotRoutable => {
                StatusCode::CONFLICT
            }
            Self::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::UpstreamError => StatusCode::BAD_GATEWAY,
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The `title` member: the same for every problem of the kind.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::NoReadyEndpoint => "no endpoint of the group is ready",
            Self::StateBehind => "the state of the rollout is behind the session",
            Self::WrongGroup => "another group was reached",
            Self::GroupGone => "the group of the session is gone",
            Self::SessionEnded => "the session was ended",
            Self::OverrideNotRoutable => "the chosen group serves nobody",
            Self::Capacity => "the group is at its limit",
            Self::Overloaded => "the service is overloaded",
            Self::UpstreamTimeout => "the endpoint did not answer in time",
            Self::UpstreamError => "the endpoint gave no valid answer",
            Self::BadRequest => "the request cannot be served",
            Self::Internal => "Internal Server Error",
        }
    }

    /// The answer, with the usual status.
    #[must_use]
    pub fn response<R: From<Bytes>>(self, detail: &'static str) -> Response<R> {
        self.response_with(self.status(), detail)
    }

    /// The answer with another status of the same meaning, such as 405 for a bad request.
    ///
    /// `detail` must not hold quotes, backslashes or control characters: it is put into JSON as is.
    #[must_use]
    pub fn response_with<R: From<Bytes>>(
        self,
        status: StatusCode,
        detail: &'static str,
    ) -> Response<R> {
        let body = format!(
            r#"{{"type":"{}","title":"{}","status":{},"detail":"{detail}"}}"#,
            self.kind(),
            self.title(),
            status.as_u16(),
        );
        let length = HeaderValue::from(body.len());
        let mut response = Response::new(R::from(Bytes::from(body)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CONTENT_LENGTH, length);
        if matches!(
            status,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        ) {
            // those that an overload refuses together must not come back together
            let seconds = match self {
                Self::Capacity | Self::Overloaded => fastrand::u16(1..=3),
                _ => 1,
            };
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        let extensions = response.extensions_mut();
        extensions.insert(OwnAnswer);
        extensions.insert(Told {
            problem: self,
            detail,
        });
        response
    }
}
