//! What an overview says.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tower_affinity::core::{Group, Rollout, ServiceName};
use tower_affinity::record::Recorder;
use utoipa::ToSchema;

use super::counts::{Counts, GroupCounts};
use crate::admin::views::{GroupView, SharedView, live};
use crate::control::Control;

/// Where everything is looked up.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) service: ServiceName,
    pub(crate) control: Control,
    pub(crate) recorder: Recorder,
    /// Renders all metrics as text.
    pub(crate) metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// What stands against sending traffic here.
    pub(crate) unready: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
}

/// An earlier look that the present one is compared with.
pub(super) struct Window {
    pub(super) seconds: f64,
    pub(super) counts: Arc<Counts>,
}

/// Everything at one moment. Times are seconds since the Unix epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Overview {
    /// In milliseconds.
    at: u64,
    service: String,
    replica: String,
    revision: u64,
    stable: String,
    locked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<SharedView>,
    /// What stands against sending traffic here; nothing if it is ready.
    unready: Vec<String>,
    /// What is wrong with this replica, as the others show it.
    problems: Vec<String>,
    /// The span that the rates are of; absent where nobody looked before.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_seconds: Option<f64>,
    /// The span that failures and latencies are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    window_seconds: Option<f64>,
    groups: Vec<GroupOverview>,
}

/// One group. What requests did is what this replica saw.
#[derive(Debug, Serialize, ToSchema)]
struct GroupOverview {
    #[serde(flatten)]
    group: GroupView,
    /// Its part of new sessions, by weight alone.
    share: f64,
    /// At all replicas, to 5 %.
    live_sessions: u64,
    /// Whether sessions that were moved to it fail to authenticate far more than others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lost_login: bool,
    /// Absent where nobody looked before.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<Rates>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Recent>,
}

/// Requests per second that have ended.
#[derive(Debug, Serialize, ToSchema)]
struct Rates {
    /// That began a session.
    new: f64,
    /// That came with a pin to the group.
    pinned: f64,
    /// That were moved to the group.
    moved: f64,
    /// Of testers, and where the scope asks for no session.
    other: f64,
}

/// What the last seconds brought.
#[derive(Debug, Serialize, ToSchema)]
struct Recent {
    cohorts: BTreeMap<String, CohortView>,
    /// From the request to the end of its answer; absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_seconds: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct CohortView {
    requests: f64,
    /// Answered with a 5xx, or broken off.
    failed: f64,
}

impl Overview {
    pub(super) fn of(
        sources: &Sources,
        counts: &Counts,
        rates: Option<&Window>,
        recent: Option<&Window>,
    ) -> Self {
        let control = &sources.control;
        let rollout = control.rollouts().current();
        let groups = rollout.groups().iter();
        let groups = groups.map(|group| {
            let name = group.name().as_str();
            let counts = counts.get(name).cloned().unwrap_or_default();
            let since = |window: &Window| counts.since(window.counts.get(name));
            GroupOverview {
                share: share(&rollout, group),
                lost_login: counts.lost_login,
                live_sessions: live(control, &sources.recorder, group.id()),
                per_second: rates.map(|window| Rates::of(&since(window), window.seconds)),
                window: recent.map(|window| Recent::of(&since(window))),
                group: GroupView::of(control, &rollout, group),
            }
        });
        Self {
            at: control.now().as_millis(),
            service: sources.service.to_string(),
            replica: control.replica(),
            revision: rollout.revision().0,
            stable: rollout.stable().to_string(),
            locked: rollout.is_locked(),
            shared: SharedView::of(control),
            unready: (sources.unready)(),
            problems: control
                .problems()
                .iter()
                .map(|problem| problem.kind.to_string())
                .collect(),
            rate_seconds: rates.map(|window| window.seconds),
            window_seconds: recent.map(|window| window.seconds),
            groups: groups.collect(),
        }
    }
}

fn share(rollout: &Rollout, group: &Group) -> f64 {
    let weights = rollout.groups().iter().map(|g| f64::from(g.weight().get()));
    f64::from(group.weight().get()) / weights.sum::<f64>()
}

impl Rates {
    fn of(since: &GroupCounts, seconds: f64) -> Self {
        let [new, pinned, moved, other] = since.decisions.map(|count| count / seconds);
        Self {
            new,
            pinned,
            moved,
            other,
        }
    }
}

impl Recent {
    fn of(since: &GroupCounts) -> Self {
        let cohorts = since.cohorts.iter();
        let cohorts = cohorts.filter(|(_, (requests, _))| *requests > 0.0);
        Self {
            cohorts: cohorts
                .map(|(name, (requests, failed))| {
                    let (requests, failed) = (*requests, *failed);
                    (name.clone(), CohortView { requests, failed })
                })
                .collect(),
            p50_seconds: since.quantile(0.5),
            p95_seconds: since.quantile(0.95),
        }
    }
}
