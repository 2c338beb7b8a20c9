//! Looks at all canaries, tells what is new, and aborts what is worse if that is wanted.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tower_affinity::core::analysis::Verdict;
use tower_affinity::record::Recorder;

use super::changes::{Changes, in_words};
use super::{Canary, Judged};
use crate::control::{Control, Request, Verb};
use crate::events::Kind;
use crate::metrics::VerdictSeries;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(1);

/// How soon an abort that was refused is tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// Who aborts, as the audit log names it.
const WHO: &str = "analysis";

/// Looks until `shutdown`; `series` shows every verdict.
pub(crate) async fn watch(
    control: Control,
    recorder: Recorder,
    series: VerdictSeries,
    shutdown: CancellationToken,
) {
    let mut changes = Changes::default();
    let mut pause = None;
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            () = shutdown.cancelled() => return,
        }
        let Some(judged) = Judged::now(&control, &recorder) else {
            series.show(&[]);
            continue;
        };
        let canaries = judged.canaries.iter().map(|canary| {
            let verdict = canary.comparison.verdict;
            (canary.id.name(), canary.tally, Some(verdict))
        });
        let stable = (judged.stable.name(), judged.stable_tally, None);
        series.show(&std::iter::once(stable).chain(canaries).collect::<Vec<_>>());
        for canary in changes.of(&judged) {
            tell(&control, canary, &judged);
        }
        if pause.is_some_and(|until| Instant::now() < until) || !acts(&control) {
            continue;
        }
        let worse = judged.canaries.iter();
        for canary in worse.filter(|canary| canary.comparison.verdict == Verdict::Worse) {
            if !abort(&control, canary).await {
                pause = Some(Instant::now() + AGAIN);
            }
        }
    }
}

fn tell(control: &Control, canary: &Canary, judged: &Judged) {
    let (group, text) = (Some(canary.id.name()), in_words(canary, judged));
    match canary.comparison.verdict {
        Verdict::Worse => control.events().warn(Kind::Verdict, group, &text),
        Verdict::Better | Verdict::NoWorse | Verdict::NotEnoughYet => {
            control.events().info(Kind::Verdict, group, &text);
        }
    }
}

/// Whether this replica aborts: of several that are alive the first by name does.
fn acts(control: &Control) -> bool {
    if !control.aborts_on_worse() {
        return false;
    }
    let own = control.replica();
    let announced = control.announced();
    let mut others = announced.iter().filter(|other| other.alive);
    others.all(|other| other.replica >= own)
}

/// Aborts a canary by the usual verb, with the configured policy; whether that was done.
async fn abort(control: &Control, canary: &Canary) -> bool {
    let request = Request {
        who: WHO.to_owned(),
        if_match: None,
        verb: Verb::Abort {
            group: canary.id.name().clone(),
            to: None,
            policy: None,
            within: None,
            force: false,
        },
    };
    let control = control.clone();
    // the control plane logs why it refuses
    let changed = spawn_blocking(move || control.change(&request)).await;
    matches!(changed, Ok(Ok(_)))
}
