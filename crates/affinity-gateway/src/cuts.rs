//! Ends what is open in a group that is served no more: the cuts are spread evenly, so that their
//! clients do not all come back in the same moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tower_affinity::balance::Groups;
use tower_affinity::core::{AbortPolicy, GroupId, Rollout, State, Timestamp};
use tower_affinity::record::Recorder;

use crate::control::Control;

/// Why streams are cut, as the metric names it.
const ABORTED: &str = "aborted";
const DRAINING: &str = "draining";

/// Follows the rollout and cuts, until `shutdown`.
pub(crate) async fn follow(control: Control, recorder: Recorder, shutdown: CancellationToken) {
    let (sender, mut rollouts) = watch::channel(control.rollouts().current());
    control.rollouts().subscribe(move |rollout| {
        sender.send_replace(Arc::clone(rollout));
    });
    let mut heard = control.hears();
    let mut plans: HashMap<GroupId, Planned> = HashMap::new();
    loop {
        let due = due(&control, &rollouts.borrow_and_update());
        plans.retain(|id, planned| {
            let stays = due
                .iter()
                .any(|(other, end)| other == id && *end == planned.end);
            if !stays {
                planned.task.abort();
            }
            stays
        });
        for (id, end) in due {
            plans.entry(id.clone()).or_insert_with(|| {
                let cuts = Cuts {
                    groups: control.groups().clone(),
                    recorder: recorder.clone(),
                    cause: end.cause,
                    id,
                };
                let wait = end.at.since(control.now());
                let task = tokio::spawn(cuts.spread(wait, control.streams()));
                Planned { end, task }
            });
        }
        tokio::select! {
            changed = rollouts.changed() => if changed.is_err() { return },
            // the later one replica accepts a drain, the later it is over for all
            changed = heard.changed() => if changed.is_err() { return },
            () = shutdown.cancelled() => return,
        }
    }
}

struct Planned {
    end: End,
    task: JoinHandle<()>,
}

impl Drop for Planned {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// When the streams of a group begin to be cut, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    at: Timestamp,
    cause: &'static str,
}

/// The groups whose streams are to end, now or later.
fn due(control: &Control, rollout: &Rollout) -> Vec<(GroupId, End)> {
    let groups = rollout.groups().iter();
    groups
        .filter_map(|group| {
            let end = match group.state() {
                State::Aborted(abort) => End {
                    at: match abort.policy {
                        AbortPolicy::Stay { until } => until,
                        AbortPolicy::Move | AbortPolicy::End => abort.at,
                    },
                    cause: ABORTED,
                },
                State::Draining { .. } => End {
                    at: control.cut_at(group.name())?,
                    cause: DRAINING,
                },
                State::Staged | State::Active | State::Retired { .. } => return None,
            };
            Some((group.id().clone(), end))
        })
        .collect()
}

struct Cuts {
    groups: Groups,
    recorder: Recorder,
    id: GroupId,
    cause: &'static str,
}

impl Cuts {
    /// Waits, then cuts what is open one after another over `within`, and at its end whatever has
    /// been opened since by requests that were under way.
    async fn spread(self, wait: Duration, within: Duration) {
        sleep(wait).await;
        let start = Instant::now();
        let open = self.groups.open_streams(&self.id);
        let step = within.checked_div(u32::try_from(open.len()).unwrap_or(u32::MAX));
        let mut next = start;
        for stream in open {
            sleep_until(next).await;
            if stream.cut() {
                self.recorder.streams_cut(self.id.name(), self.cause, 1);
            }
            next += step.unwrap_or_default();
        }
        sleep_until(start + within).await;
        let late = self.groups.end(&self.id);
        if late > 0 {
            self.recorder.streams_cut(self.id.name(), self.cause, late);
        }
    }
}

#[cfg(test)]
mod tests;
