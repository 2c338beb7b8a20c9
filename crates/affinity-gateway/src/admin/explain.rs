//! `GET /v1/explain`: what would be decided for a path and a pin, without a request.
//!
//! The pin comes in `affinity-pin` and an override in `affinity-override`, since an address may be
//! written down on its way. It is the rule itself that is asked. What a store of assignments knows,
//! and what a scope would draw by, is not in the question.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use tower_affinity::core::{
    Absence, DrawSalt, GroupRef, Inputs, Kind, LiveCounts, Newer, Outcome, Policy, Presented,
    Readiness, Rollout, SessionPin, Shown, decide,
};
use tower_affinity::wire::PathPattern;
use utoipa::ToSchema;

use super::AdminOptions;
use super::mint::fresh;
use super::problem::Problem;

/// What is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    path: String,
}

/// What would be decided. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explained {
    /// The scope of the path; absent if it is in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    revision: u64,
    decision: &'static str,
    cause: &'static str,
    /// `none` where nothing would serve, `unknown` where only a newer state can tell.
    group: String,
    /// Whether the group was drawn just now: a real request may be drawn elsewhere.
    drawn: bool,
    cohort: &'static str,
    /// Whether the answer would carry a pin.
    issues_pin: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
}

#[utoipa::path(
    get,
    path = "/v1/explain",
    tag = "pins",
    operation_id = "explain",
    summary = "What would be decided for a path and a pin",
    params(
        ("path" = String, Query, description = "An absolute path"),
        ("affinity-pin" = Option<String>, Header, description = "A pin"),
        ("affinity-override" = Option<String>, Header, description = "An override")
    ),
    responses((status = 200, body = Explained, description = "The decision; nothing is done"))
)]
pub(super) async fn explain(
    State(options): State<AdminOptions>,
    question: Result<Query<Question>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Explained>, Problem> {
    let Query(Question { path }) = question?;
    if !path.starts_with('/') {
        return Err(Problem::bad_request(
            "path: an absolute path is needed, as in ?path=/step",
        ));
    }
    let control = &options.control;
    let scope = control.scope_of(&path);
    let rollout = control.rollouts().current();
    let (policy, shows) = match &scope {
        Some((_, policy)) => (Some(policy), shown(&options, &rollout, policy, &headers)),
        None => (None, Presented::default()),
    };
    let (now, codec) = (control.now(), control.codec());
    let fresh = fresh()?;
    let outcome = decide(&Inputs {
        presented: &shows,
        policy,
        rollout: &rollout,
        ready: control.groups(),
        live: &LiveCounts::Unknown,
        salt: &DrawSalt::new(codec.service()),
        serving: None,
        now,
        fresh: &|| fresh,
        // a lone gateway knows that there is no newer state; others would ask first
        newer: match control.shared_reach() {
            None => Newer::Proved,
            Some(_) => Newer::Unasked,
        },
    });
    Ok(Json(Explained::of(
        scope.map(|(path, _)| path),
        &rollout,
        outcome,
    )))
}

/// What a client with these tokens would show.
fn shown(
    options: &AdminOptions,
    rollout: &Rollout,
    policy: &Policy,
    headers: &HeaderMap,
) -> Presented {
    let (control, codec) = (&options.control, options.control.codec());
    let codes = codec.codes(rollout).ok();
    let now = control.now();
    let pin = headers.get("affinity-pin").filter(|pin| !pin.is_empty());
    let shown = match pin.map(|pin| codec.open(pin.as_bytes(), now, policy.lifetimes)) {
        None => Shown::Nothing(Absence::New),
        Some(Err(fault)) => Shown::Nothing(Absence::Fault(fault)),
        Some(Ok(opened)) => {
            let mut pin: SessionPin = opened.pin;
            if let Some(codes) = &codes {
                codes.resolve(&mut pin);
            }
            if let GroupRef::Known(id) = &pin.group
                && let Some(list) = control.groups().endpoint_ids(id.name())
            {
                codec.endpoint_codes(id, &list).resolve(&mut pin);
            }
            Shown::Pin(Box::new(pin))
        }
    };
    let chosen = headers.get("affinity-override");
    // one that does not verify is ignored
    let chosen = chosen.and_then(|token| codec.open_override(token.as_bytes(), now).ok());
    let chosen = chosen.map(|mut chosen| {
        if let Some(codes) = &codes {
            codes.resolve_override(&mut chosen);
        }
        chosen
    });
    Presented {
        shown,
        chosen,
        ..Presented::default()
    }
}

impl Explained {
    fn of(scope: Option<PathPattern>, rollout: &Rollout, outcome: Outcome) -> Self {
        let (scope, revision) = (scope.map(|path| path.to_string()), rollout.revision().0);
        let decision = match outcome {
            Outcome::Decided(decision) => decision,
            Outcome::Behind(_) => {
                return Self {
                    scope,
                    revision,
                    decision: "refused",
                    cause: "behind",
                    group: "unknown".to_owned(),
                    drawn: false,
                    cohort: "none",
                    issues_pin: false,
                    expires: None,
                    moved_from: None,
                };
            }
        };
        let moved = decision.kind == Kind::Moved;
        Self {
            scope,
            revision,
            decision: decision.kind.as_str(),
            cause: decision.cause.as_str(),
            group: decision.group_label().to_owned(),
            drawn: decision.kind == Kind::Assigned,
            cohort: decision.cohort.as_str(),
            issues_pin: decision.issue && decision.carries_pin(),
            expires: decision.pin.as_ref().map(|pin| pin.expires.as_secs()),
            moved_from: decision
                .moved_from()
                .filter(|_| moved)
                .map(|last| last.from.label().to_owned()),
        }
    }
}
