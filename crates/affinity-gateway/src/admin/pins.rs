//! What a token says, for whoever has to know.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};
use tower_affinity::core::{Cause, EndpointId, GroupRef, Lifetimes, Readiness, Status};
use utoipa::ToSchema;

use super::AdminOptions;
use super::problem::Problem;

/// The body of an inspection.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Inspection {
    token: String,
}

/// What a token says. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Inspected {
    Invalid {
        valid: bool,
        cause: &'static str,
    },
    Valid {
        valid: bool,
        key: String,
        session: String,
        group: String,
        group_state: &'static str,
        /// Where the session is bound to; absent if it is to none, `unknown` if the group has it
        /// not here.
        #[serde(skip_serializing_if = "Option::is_none")]
        endpoint: Option<String>,
        started: u64,
        issued: u64,
        expires: u64,
        revision: u64,
        assigned_revision: u64,
        moves: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        moved_from: Option<MovedFrom>,
    },
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MovedFrom {
    group: String,
    at: u64,
    cause: String,
}

#[utoipa::path(
    post,
    path = "/v1/pins/inspect",
    tag = "pins",
    operation_id = "inspect",
    summary = "What a token says",
    request_body = Inspection,
    responses((status = 200, body = Inspected, description = "What it says, or why it is none"))
)]
pub(super) async fn inspect(
    State(options): State<AdminOptions>,
    body: Result<Json<Inspection>, JsonRejection>,
) -> Result<Json<Inspected>, Problem> {
    let token = body?.0.token;
    let control = &options.control;
    let codec = control.codec();
    let lifetimes: Lifetimes = control.lifetimes();
    let opened = match codec.open(token.as_bytes(), control.now(), lifetimes) {
        Ok(opened) => opened,
        Err(fault) => {
            let cause = Cause::from(fault).as_str();
            return Ok(Json(Inspected::Invalid {
                valid: false,
                cause,
            }));
        }
    };
    let rollout = control.rollouts().current();
    let mut pin = opened.pin;
    if let Ok(codes) = codec.codes(&rollout) {
        codes.resolve(&mut pin);
    }
    if let GroupRef::Known(id) = &pin.group
        && let Some(list) = control.groups().endpoint_ids(id.name())
    {
        codec.endpoint_codes(id, &list).resolve(&mut pin);
    }
    let group_state = match &pin.group {
        GroupRef::Unknown(_) => "unknown",
        GroupRef::Known(id) => match rollout.status(id) {
            Status::Serving(group) => group.state().name(),
            Status::Aborted(_) => "aborted",
            Status::Gone => "gone",
        },
    };
    Ok(Json(Inspected::Valid {
        valid: true,
        key: opened.key.to_string(),
        session: pin.session.to_string(),
        group: pin.group.label().to_owned(),
        group_state,
        endpoint: pin.endpoint.as_ref().map(|endpoint| {
            let known = endpoint.known().map(EndpointId::as_str);
            known.unwrap_or("unknown").to_owned()
        }),
        started: pin.started.as_secs(),
        issued: pin.issued.as_secs(),
        expires: pin.expires.as_secs(),
        revision: pin.revision.0,
        assigned_revision: pin.assigned.0,
        moves: pin.moves,
        moved_from: pin.last_move.as_ref().map(|last| MovedFrom {
            group: last.from.label().to_owned(),
            at: last.at.as_secs(),
            cause: last.cause.as_str().to_owned(),
        }),
    }))
}
