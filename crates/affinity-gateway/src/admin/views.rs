//! What the admin side shows.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use serde::Serialize;
use tower_affinity::balance::{Endpoint, EndpointState, Source};
use tower_affinity::core::{
    AbortPolicy, Group, GroupId, GroupName, Rollout, Standing, State as Life,
};
use tower_affinity::record::Recorder;
use utoipa::ToSchema;

use super::AdminOptions;
use super::problem::Problem;
use crate::control::{Control, Failure};

/// The whole rollout.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RolloutView {
    revision: u64,
    step_revision: u64,
    draw_revision: u64,
    stable: String,
    former_stable: Vec<String>,
    locked: bool,
    /// How the state that replicas share stands to what is shown; absent for the only replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<SharedView>,
    groups: Vec<GroupView>,
}

/// The state that replicas share.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SharedView {
    in_reach: bool,
    /// Seconds since it was last read.
    age: u64,
    /// Aborts that only this replica obeys and that merge by themselves.
    pending: usize,
    /// Those that wait for a human.
    conflicts: usize,
}

impl SharedView {
    pub(super) fn of(control: &Control) -> Option<Self> {
        let (in_reach, age) = control.shared_reach()?;
        let facts = control.facts();
        let conflicts = facts
            .iter()
            .filter(|(_, standing)| *standing == Standing::Conflicts)
            .count();
        Some(Self {
            in_reach,
            age: age.as_secs(),
            pending: facts.len() - conflicts,
            conflicts,
        })
    }
}

/// One group. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GroupView {
    name: String,
    generation: u32,
    state: &'static str,
    weight: u16,
    stable: bool,
    /// The groups whose sessions it can serve, where the level is `version`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compatible_with: Vec<String>,
    endpoints: Vec<EndpointView>,
    /// Where they are found, unless the configuration or a verb names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceView>,
    /// Addresses that an operator drains here and that the group has not now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    drained_absent: Vec<SocketAddr>,
    /// Requests whose answer or tunnel has not ended, at all replicas.
    in_flight: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    draining_since: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drained_by: Option<u64>,
    /// Whether no session is left.
    drained: bool,
    /// The replicas whose word on that is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for: Vec<String>,
    /// The latest expiry of a pin to the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_expiry: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    abort: Option<AbortView>,
}

/// One group by itself.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GroupDetails {
    #[serde(flatten)]
    group: GroupView,
    /// Sessions that returned their pin within the idle lifetime, to 5 %; each counts once, at
    /// however many replicas it was seen.
    live_sessions: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EndpointView {
    #[schema(value_type = String)]
    address: SocketAddr,
    /// The worst that is known of it.
    state: &'static str,
    /// Requests from this replica whose answer or tunnel has not ended.
    in_flight: usize,
    /// Whether an operator drains it here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    drain: bool,
}

impl EndpointView {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Self {
            address: endpoint.address(),
            state: endpoint.state().as_str(),
            in_flight: endpoint.in_flight(),
            drain: endpoint.reported(Source::Operator) == EndpointState::Draining,
        }
    }
}

/// Where the endpoints of a group are found.
#[derive(Debug, Serialize, ToSchema)]
struct SourceView {
    from: String,
    /// How old its last good answer is; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    age_seconds: Option<u64>,
    /// For how long the endpoints have been kept without a good answer.
    stale_seconds: u64,
    /// What is wrong with its last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
}

impl SourceView {
    fn of(control: &Control, group: &GroupName) -> Option<Self> {
        let standing = control.sources().of(group)?;
        let now = control.now();
        Some(Self {
            from: standing.source.to_string(),
            age_seconds: standing.age(now).map(|age| age.as_secs()),
            stale_seconds: standing.stale(now).as_secs(),
            failure: standing.failure().map(Failure::as_str),
        })
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct AbortView {
    target: String,
    policy: &'static str,
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

impl RolloutView {
    pub(super) fn of(control: &Control, rollout: &Rollout) -> Self {
        Self {
            revision: rollout.revision().0,
            step_revision: rollout.step_revision().0,
            draw_revision: rollout.draw_revision().0,
            stable: rollout.stable().to_string(),
            former_stable: rollout
                .former_stable()
                .iter()
                .map(ToString::to_string)
                .collect(),
            locked: rollout.is_locked(),
            shared: SharedView::of(control),
            groups: rollout
                .groups()
                .iter()
                .map(|g| GroupView::of(control, rollout, g))
                .collect(),
        }
    }
}

impl GroupView {
    pub(super) fn of(control: &Control, rollout: &Rollout, group: &Group) -> Self {
        let endpoints = control.groups().endpoints(group.name());
        let mut absent = control.drains(group.name());
        for endpoint in &endpoints {
            absent.remove(&endpoint.address());
        }
        let endpoints = endpoints.iter().map(|e| EndpointView::of(e)).collect();
        let (draining_since, abort) = match group.state() {
            Life::Draining { since } => (Some(since.as_secs()), None),
            Life::Aborted(abort) => {
                let (policy, until) = match abort.policy {
                    AbortPolicy::Move => ("move", None),
                    AbortPolicy::Stay { until } => ("stay", Some(until.as_secs())),
                    AbortPolicy::End => ("end", None),
                };
                let target = abort.target.name().to_string();
                (
                    None,
                    Some(AbortView {
                        target,
                        policy,
                        at: abort.at.as_secs(),
                        until,
                    }),
                )
            }
            _ => (None, None),
        };
        let left = control.left(group);
        Self {
            name: group.name().to_string(),
            generation: group.id().generation(),
            state: group.state().name(),
            weight: group.weight().get(),
            stable: rollout.stable() == group.name(),
            compatible_with: group
                .compatible_with()
                .iter()
                .map(ToString::to_string)
                .collect(),
            in_flight: left.open,
            endpoints,
            source: SourceView::of(control, group.name()),
            drained_absent: absent.into_iter().collect(),
            draining_since,
            drained_by: left.by.map(|by| by.as_secs()),
            drained: left.drained,
            waits_for: left.waits_for,
            last_expiry: left.last_expiry.map(|expiry| expiry.as_secs()),
            abort,
        }
    }
}

#[utoipa::path(
    get,
    path = "/v1/rollout",
    tag = "rollout",
    operation_id = "rollout",
    summary = "The whole rollout",
    responses((status = 200, body = RolloutView, description = "What is so now."))
)]
pub(super) async fn rollout(State(options): State<AdminOptions>) -> Json<RolloutView> {
    let rollout = options.control.rollouts().current();
    Json(RolloutView::of(&options.control, &rollout))
}

#[utoipa::path(
    get,
    path = "/v1/groups/{group}",
    tag = "groups",
    operation_id = "group",
    summary = "One group, with its live sessions",
    params(
        ("group" = String, Path, description = "The name of a group")
    ),
    responses((status = 200, body = GroupDetails, description = "What is so now."))
)]
pub(super) async fn group(
    State(options): State<AdminOptions>,
    Path(name): Path<String>,
) -> Result<Json<GroupDetails>, Problem> {
    let rollout = options.control.rollouts().current();
    let group = find(&rollout, &name)?;
    Ok(Json(GroupDetails {
        live_sessions: live_sessions(&options, group.id()),
        group: GroupView::of(&options.control, &rollout, group),
    }))
}

/// The union of what this replica sees now and what the others said last.
pub(super) fn live_sessions(options: &AdminOptions, id: &GroupId) -> u64 {
    live(&options.control, &options.recorder, id)
}

pub(super) fn live(control: &Control, recorder: &Recorder, id: &GroupId) -> u64 {
    let mut live = recorder.live_sketch(id.name(), control.now());
    live.merge(&control.fleet().live(id, control.lifetimes().idle()));
    live.count().round() as u64
}

/// What is left of a group.
#[derive(Debug, Serialize, ToSchema)]
struct LeftView {
    drained: bool,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    drained_by: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_expiry: Option<u64>,
    in_flight: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for: Vec<String>,
}

/// 200 if the group is drained, else 409 with what is left.
#[utoipa::path(
    get,
    path = "/v1/groups/{group}/drained",
    tag = "groups",
    operation_id = "drained",
    summary = "Whether no session of a group is left",
    params(
        ("group" = String, Path, description = "The name of a group")
    ),
    responses((status = 200, body = LeftView, description = "It is drained"),
        (status = 409, body = LeftView, description = "What is left"))
)]
pub(super) async fn drained(
    State(options): State<AdminOptions>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let rollout = options.control.rollouts().current();
    let view = GroupView::of(&options.control, &rollout, find(&rollout, &name)?);
    let status = if view.drained {
        StatusCode::OK
    } else {
        StatusCode::CONFLICT
    };
    let left = LeftView {
        drained: view.drained,
        state: view.state,
        drained_by: view.drained_by,
        last_expiry: view.last_expiry,
        in_flight: view.in_flight,
        waits_for: view.waits_for,
    };
    Ok((status, Json(left)).into_response())
}

pub(super) async fn metrics(State(options): State<AdminOptions>) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, kind)], (options.metrics)()).into_response()
}

pub(super) async fn alive() -> &'static str {
    "ok\n"
}

pub(super) async fn ready(State(options): State<AdminOptions>) -> Response {
    let why = (options.unready)();
    if why.is_empty() {
        return "ok\n".into_response();
    }
    unready(&why)
}

/// That no traffic is to be sent here, with a line for each reason.
pub(super) fn unready(why: &[String]) -> Response {
    let text = format!("{}\n", why.join("\n"));
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")], text).into_response()
}

pub(super) fn find<'a>(rollout: &'a Rollout, name: &str) -> Result<&'a Group, Problem> {
    let known = name
        .parse::<GroupName>()
        .ok()
        .and_then(|name| rollout.group(&name));
    known.ok_or_else(|| Problem::unknown_group(name))
}
