//! `?preview=true`: what a change would do.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::header::ETAG;
use http::request::Parts;
use serde::Serialize;
use tower_affinity::core::{Group, GroupId, GroupName, Rollout, Timestamp, Weight};
use tower_affinity::wire::PathPattern;
use utoipa::ToSchema;

use super::AdminOptions;
use super::problem::Problem;
use super::views::live_sessions;
use crate::control::{Fate, Leaving, Preview};

/// Whether a changing call is to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Change,
    Preview,
}

/// A query that is not understood is refused: who asks for a preview must not get a change.
impl<S: Sync> FromRequestParts<S> for Mode {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match parts.uri.query() {
            None | Some("" | "preview=false") => Ok(Self::Change),
            Some("preview=true") => Ok(Self::Preview),
            Some(_) => Err(Problem::bad_request(
                "the query of a change is ?preview=true or none",
            )),
        }
    }
}

/// What a change would do. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PreviewView {
    /// Always: so that it is not taken for the answer to a change.
    preview: bool,
    verb: &'static str,
    /// The present revision, for `If-Match` of the change.
    revision: u64,
    /// Whether the change would alter anything.
    changed: bool,
    at: u64,
    locked: bool,
    groups: Vec<GroupPreview>,
    /// Scopes whose sessions are drawn anew, each with its next request.
    redrawn: Vec<String>,
}

/// One group before and after.
#[derive(Debug, Serialize, ToSchema)]
struct GroupPreview {
    name: String,
    /// `null` if it is new.
    before: Option<Side>,
    /// `null` if it is forgotten.
    after: Option<Side>,
    /// Sessions that returned their pin within the idle lifetime, to 5 %.
    live_sessions: u64,
    in_flight: usize,
    max_in_flight: Option<usize>,
    /// How many more requests it takes of sessions that come to it, so without what is kept for its
    /// own; `null` if that is unknown.
    free: Option<usize>,
    /// The latest expiry of a pin to the group.
    last_expiry: Option<u64>,
    /// When it is drained at the latest, if it drains then.
    drained_by: Option<u64>,
    /// What happens to its sessions; `null` if they stay as they are.
    leaving: Option<LeavingView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Side {
    generation: u32,
    state: &'static str,
    weight: u16,
    /// Its part of new sessions, by weight alone.
    share: f64,
    stable: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct LeavingView {
    /// `move`, `stay`, `end`, or `draw` for a move by weights.
    how: &'static str,
    /// Where they go; of several groups each session draws one.
    to: Vec<String>,
    /// Until when they stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    /// When the last one has moved, ended or expired.
    by: u64,
    /// When nothing is open any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_by: Option<u64>,
    /// Scopes whose sessions end instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    strict: Vec<String>,
}

/// The answer to a preview; its tag is the present revision.
pub(super) fn answer(options: &AdminOptions, verb: &'static str, preview: &Preview) -> Response {
    let (before, after) = (&*preview.before, &preview.after);
    let revision = before.revision().0;
    let gone = before.groups().iter();
    let gone = gone.filter(|group| after.group(group.name()).is_none());
    let names = after.groups().iter().chain(gone).map(Group::name);
    let view = PreviewView {
        preview: true,
        verb,
        revision,
        changed: revision != after.revision().0,
        at: preview.at.as_secs(),
        locked: after.is_locked(),
        groups: names.map(|name| group(options, name, preview)).collect(),
        redrawn: texts(&preview.redrawn),
    };
    ([(ETAG, format!("\"{revision}\""))], Json(view)).into_response()
}

fn group(options: &AdminOptions, name: &GroupName, preview: &Preview) -> GroupPreview {
    let control = &options.control;
    let (before, after) = (preview.before.group(name), preview.after.group(name));
    let left = before.map(|group| control.left(group));
    let in_flight = control.groups().in_flight(name);
    let max_in_flight = control.groups().max_in_flight(name);
    let bounds = control.bounds();
    let by = preview.after.drained_by(name, bounds.max_age, bounds.skew);
    let leaving = before.and_then(|group| {
        let mut leaving = preview.leaving.iter();
        leaving.find(|leaving| leaving.group == *group.id())
    });
    GroupPreview {
        name: name.to_string(),
        before: before.map(|group| Side::of(&preview.before, group)),
        after: after.map(|group| Side::of(&preview.after, group)),
        live_sessions: before.map_or(0, |group| live_sessions(options, group.id())),
        in_flight,
        max_in_flight,
        free: control.groups().room(name),
        last_expiry: secs(left.as_ref().and_then(|left| left.last_expiry)),
        drained_by: secs(by),
        leaving: leaving.map(LeavingView::of),
    }
}

impl Side {
    fn of(rollout: &Rollout, group: &Group) -> Self {
        let weights = rollout.groups().iter().map(Group::weight);
        let total: f64 = weights.map(number).sum();
        Self {
            generation: group.id().generation(),
            state: group.state().name(),
            weight: group.weight().get(),
            share: number(group.weight()) / total,
            stable: rollout.stable() == group.name(),
        }
    }
}

fn number(weight: Weight) -> f64 {
    f64::from(weight.get())
}

impl LeavingView {
    fn of(leaving: &Leaving) -> Self {
        let one = |to: &GroupId| vec![to.name().to_string()];
        let (how, to, until) = match &leaving.fate {
            Fate::Move { to } => ("move", one(to), None),
            Fate::Stay { until, to } => ("stay", one(to), Some(*until)),
            Fate::End => ("end", Vec::new(), None),
            Fate::Draw { among, .. } => ("draw", among.iter().flat_map(one).collect(), None),
        };
        let strict = match &leaving.fate {
            Fate::Draw { strict, .. } => texts(strict),
            _ => Vec::new(),
        };
        Self {
            how,
            to,
            until: secs(until),
            by: leaving.by.as_secs(),
            cut_by: secs(leaving.cut_by),
            strict,
        }
    }
}

fn texts(paths: &[PathPattern]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

fn secs(time: Option<Timestamp>) -> Option<u64> {
    time.map(|time| time.as_secs())
}
