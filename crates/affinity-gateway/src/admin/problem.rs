//! Errors of the admin side as problem details.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;
use utoipa::ToSchema;

use crate::causes::with_causes;
use crate::control::{ControlError, StoreError};

/// A problem: `type` is stable, for machines; `detail` is for people.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Problem {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) title: &'static str,
    pub(super) status: u16,
    pub(super) detail: String,
    /// Whether `force` lifts a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) can_be_forced: Option<bool>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, kind: &'static str, title: &'static str) -> Self {
        let detail = title.to_owned();
        Self {
            kind,
            title,
            status: status.as_u16(),
            detail,
            can_be_forced: None,
        }
    }

    pub(super) fn detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            ..self
        }
    }

    /// A rule forbids the change.
    pub(super) fn refused(can_be_forced: bool) -> Self {
        Self {
            can_be_forced: Some(can_be_forced),
            ..Self::new(StatusCode::CONFLICT, "refused", "a rule forbids the change")
        }
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-request",
            "the request cannot be understood",
        )
        .detail(detail)
    }

    pub(super) fn unknown_group(name: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "unknown-group",
            "no group has that name",
        )
        .detail(format!(
            "no group is named {:?}",
            name.chars().take(128).collect::<String>()
        ))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let mut response = (status, axum::Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<ControlError> for Problem {
    fn from(error: ControlError) -> Self {
        let detail = with_causes(&error);
        match &error {
            ControlError::Refused(refusal) => Self::refused(refusal.can_be_forced()),
            ControlError::EndpointTaken { .. } => Self::refused(false),
            ControlError::NoEndpoint { .. } => Self::new(
                StatusCode::NOT_FOUND,
                "unknown-endpoint",
                "the group has no such endpoint",
            ),
            ControlError::LastEndpoint { .. } => Self::refused(true),
            ControlError::Shared(_) => Self::new(
                StatusCode::CONFLICT,
                "out-of-reach",
                "the state that the gateways share is out of reach",
            ),
            ControlError::Within(_) => Self::bad_request(""),
            ControlError::Store(StoreError::HandedOver) => Self::new(
                StatusCode::CONFLICT,
                "handed-over",
                "another process takes over from this one",
            ),
            ControlError::Stale { .. } => Self::new(
                StatusCode::PRECONDITION_FAILED,
                "stale-revision",
                "the rollout has changed since",
            ),
            _ => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "not-kept",
                "the change could not be kept and was not made",
            ),
        }
        .detail(detail)
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        match rejection {
            JsonRejection::MissingJsonContentType(_) => Self::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media-type",
                "changing calls need content-type: application/json",
            ),
            other => Self::bad_request(other.body_text()),
        }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_request(rejection.body_text())
    }
}

pub(super) async fn not_found() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not-found",
        "there is nothing at this path",
    )
}

pub(super) async fn method_not_allowed() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "this path needs another method",
    )
}
