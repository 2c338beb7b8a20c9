//! `GET /v1/analysis`: what is known of the canaries.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tower_affinity::core::analysis::{Measure, Measured, Naive, Tally};
use tower_affinity::record::{AuthBurst, Recorder};
use utoipa::ToSchema;

use super::AdminOptions;
use super::problem::Problem;
use crate::analysis::{Canary, Judged};
use crate::control::Control;

/// All canaries beside the stable group. Times are seconds since the Unix epoch, rates parts of one,
/// differences canary minus stable.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AnalysisView {
    revision: u64,
    /// The revision of the step that everything is counted from.
    step_revision: u64,
    /// Since when it is counted; absent before anything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    now: u64,
    min_effect: f64,
    alpha: f64,
    /// What the verdicts stand on.
    measures: Vec<&'static str>,
    /// Whether a canary that is worse is aborted.
    abort_on_worse: bool,
    stable: StableView,
    canaries: Vec<CanaryView>,
    /// Groups whose moved sessions fail to authenticate, as this replica sees them.
    auth_bursts: Vec<AuthBurstView>,
}

/// Sessions that were moved, and of which the group knows nothing.
#[derive(Debug, Serialize, ToSchema)]
struct AuthBurstView {
    /// The group that they were moved to.
    group: String,
    /// The group that the last of them came from, and why.
    from: Option<String>,
    cause: Option<String>,
    since: u64,
    /// The revision of the rollout when that began.
    revision: u64,
    /// Answers to moved sessions in the last seconds, and how many asked them to sign in.
    answers: u64,
    failed: u64,
    /// The part that was taken as usual there.
    usual: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct StableView {
    group: String,
    counts: CountsView,
}

/// What all replicas have counted of a group.
#[derive(Debug, Serialize, ToSchema)]
struct CountsView {
    /// Sessions that the draw has assigned to it since the step.
    sessions: u64,
    failed: u64,
    completed: u64,
    slow: u64,
    /// All requests, those of older sessions too.
    requests: u64,
    failed_requests: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct CanaryView {
    group: String,
    counts: CountsView,
    /// `better`, `no_worse`, `worse` or `not_enough_yet`.
    verdict: &'static str,
    /// How many more sessions the smaller group needs for a verdict; absent before any is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<u64>,
    failures: MeasuredView,
    completions: MeasuredView,
    slow: MeasuredView,
    naive: NaiveView,
}

#[derive(Debug, Serialize, ToSchema)]
struct MeasuredView {
    canary: Option<f64>,
    stable: Option<f64>,
    difference: Option<f64>,
    /// Between this and `upper` is the true difference.
    lower: f64,
    upper: f64,
    /// The part of alpha that the interval has.
    alpha: f64,
    verdict: &'static str,
    needed: Option<u64>,
}

/// The failed part of all requests.
#[derive(Debug, Serialize, ToSchema)]
struct NaiveView {
    canary: Option<f64>,
    stable: Option<f64>,
    difference: Option<f64>,
    /// By how much that is above the difference of the sessions.
    off: Option<f64>,
}

impl AnalysisView {
    pub(super) fn now(control: &Control, recorder: &Recorder) -> Option<Self> {
        let judged = Judged::now(control, recorder)?;
        let terms = &judged.terms;
        Some(Self {
            revision: judged.revision.0,
            step_revision: judged.step.0,
            since: judged.since.map(|since| since.as_secs()),
            now: control.now().as_secs(),
            min_effect: terms.min_effect(),
            alpha: terms.alpha(),
            measures: terms.measures().iter().map(Measure::name).collect(),
            abort_on_worse: control.aborts_on_worse(),
            stable: StableView {
                group: judged.stable.name().to_string(),
                counts: CountsView::from(judged.stable_tally),
            },
            canaries: judged
                .canaries
                .iter()
                .map(|canary| CanaryView::of(canary, &judged))
                .collect(),
            auth_bursts: recorder.auth_bursts().into_iter().map(Into::into).collect(),
        })
    }
}

impl From<AuthBurst> for AuthBurstView {
    fn from(burst: AuthBurst) -> Self {
        Self {
            group: burst.group,
            from: burst.from,
            cause: burst.cause,
            since: burst.since.as_secs(),
            revision: burst.revision.0,
            answers: burst.moved.answered,
            failed: burst.moved.failed,
            usual: burst.usual,
        }
    }
}

impl From<Tally> for CountsView {
    fn from(tally: Tally) -> Self {
        Self {
            sessions: tally.sessions,
            failed: tally.failed,
            completed: tally.completed,
            slow: tally.slow,
            requests: tally.requests,
            failed_requests: tally.failed_requests,
        }
    }
}

impl CanaryView {
    fn of(canary: &Canary, judged: &Judged) -> Self {
        let comparison = &canary.comparison;
        let measured = |measure| {
            let alpha = judged.terms.alpha_of(measure);
            MeasuredView::of(comparison.measured(measure), alpha)
        };
        let Naive {
            canary: of_canary,
            stable,
            difference,
            off,
        } = comparison.naive;
        Self {
            group: canary.id.name().to_string(),
            counts: CountsView::from(canary.tally),
            verdict: comparison.verdict.name(),
            needed: comparison.needed(&judged.terms),
            failures: measured(Measure::Failures),
            completions: measured(Measure::Completions),
            slow: measured(Measure::Slow),
            naive: NaiveView {
                canary: of_canary,
                stable,
                difference,
                off,
            },
        }
    }
}

impl MeasuredView {
    fn of(measured: &Measured, alpha: f64) -> Self {
        Self {
            canary: measured.canary,
            stable: measured.stable,
            difference: measured.difference,
            lower: measured.interval.lower,
            upper: measured.interval.upper,
            alpha,
            verdict: measured.verdict.name(),
            needed: measured.needed,
        }
    }
}

#[utoipa::path(
    get,
    path = "/v1/analysis",
    tag = "rollout",
    operation_id = "analysis",
    summary = "Each canary beside the stable group: counts, intervals, verdict",
    responses((status = 200, body = AnalysisView, description = "What is so now."))
)]
pub(super) async fn analysis(
    State(options): State<AdminOptions>,
) -> Result<Json<AnalysisView>, Problem> {
    let view = AnalysisView::now(&options.control, &options.recorder);
    view.map(Json)
        .ok_or_else(|| Problem::unknown_group("stable"))
}
