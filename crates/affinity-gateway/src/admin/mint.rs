//! Makes pins and overrides for testers.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tower_affinity::core::{GroupName, MAX_OVERRIDE, SessionId, SessionPin, State as GroupState};
use utoipa::ToSchema;

use super::AdminOptions;
use super::problem::Problem;
use super::verbs::{Peer, who};
use crate::events::Kind;

/// The body of a minting.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wish {
    group: String,
    #[serde(rename = "override", default)]
    overrides: bool,
    #[serde(default)]
    sticky: bool,
    ttl: Option<String>,
}

/// What was made. The time is in seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Minted {
    token: String,
    group: String,
    expires: u64,
}

#[utoipa::path(
    post,
    path = "/v1/pins/mint",
    tag = "pins",
    operation_id = "mint",
    summary = "Makes a pin or an override",
    request_body = Wish,
    responses((status = 200, body = Minted, description = "The token"))
)]
pub(super) async fn mint(
    State(options): State<AdminOptions>,
    peer: Peer,
    body: Result<Json<Wish>, JsonRejection>,
) -> Result<Json<Minted>, Problem> {
    let wish = body?.0;
    let name: GroupName = wish
        .group
        .parse()
        .map_err(|error| Problem::bad_request(format!("{error}")))?;
    let control = &options.control;
    let rollout = control.rollouts().current();
    let Some(group) = rollout.group(&name) else {
        return Err(Problem::unknown_group(&wish.group));
    };
    if matches!(
        group.state(),
        GroupState::Aborted(_) | GroupState::Retired { .. }
    ) {
        return Err(Problem::refused(false).detail(format!(
            "{name} is {}; a staged, active or draining group can be named",
            group.state().name()
        )));
    }
    let now = control.now();
    if !wish.overrides {
        if wish.sticky || wish.ttl.is_some() {
            return Err(Problem::bad_request(
                "sticky and ttl are for overrides: say override as well",
            ));
        }
        let pin = SessionPin {
            placed: true,
            ..SessionPin::new(
                fresh()?,
                group.id().clone(),
                rollout.revision(),
                now,
                control.lifetimes(),
            )
        };
        let expires = pin.expires.as_secs();
        let token = control.codec().seal(&pin).token;
        return Ok(Json(Minted {
            token,
            group: wish.group,
            expires,
        }));
    }
    let ttl = ttl(wish.ttl.as_deref())?;
    let sealed = control
        .codec()
        .seal_override(group.id(), ttl, wish.sticky, now);
    let token = sealed.ok_or_else(|| {
        let hours = MAX_OVERRIDE.as_secs() / 3600;
        Problem::bad_request(format!("ttl is from 1s to {hours}h"))
    })?;
    let (who, sticky) = (who(peer), wish.sticky);
    // whoever has the token has the choice of the group, so it is in no log
    tracing::info!(
        target: "affinity::audit", who, verb = "mint", group = %name, sticky, ?ttl, "override minted"
    );
    let ttl_text = humantime::format_duration(ttl);
    let text = format!("override for {ttl_text} minted by {who}");
    control.events().keep(Kind::Rollout, Some(&name), &text);
    Ok(Json(Minted {
        token,
        group: wish.group,
        expires: now.plus(ttl).as_secs(),
    }))
}

fn ttl(text: Option<&str>) -> Result<Duration, Problem> {
    let text = text.ok_or_else(|| Problem::bad_request("an override needs a ttl, such as 1h"))?;
    humantime::parse_duration(text)
        .map_err(|error| Problem::bad_request(format!("ttl {text:?}: {error}")))
}

pub(super) fn fresh() -> Result<SessionId, Problem> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|_| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed",
            "the system's random generator does not answer",
        )
    })?;
    Ok(SessionId::from_random(u128::from_be_bytes(bits)))
}
