//! Says when a draining group is drained, and keeps until when pins are valid.

use std::collections::HashSet;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;
use tower_affinity::core::{GroupId, State};
use tower_affinity::record::Recorder;

use crate::control::Control;
use crate::events::Kind;

/// How often it is looked whether a group is drained.
const LOOK: Duration = Duration::from_millis(250);

/// How often it is kept until when pins are valid: every 40th look.
const KEEP: u32 = 40;

/// The draining groups that were said to be drained.
#[derive(Debug, Default)]
pub(crate) struct Watch(HashSet<GroupId>);

impl Watch {
    /// Tells what has changed since the last look.
    pub(crate) fn look(&mut self, control: &Control, recorder: &Recorder) {
        let rollout = control.rollouts().current();
        let groups = rollout.groups().iter();
        let draining: Vec<_> = groups
            .filter(|group| matches!(group.state(), State::Draining { .. }))
            .collect();
        self.0
            .retain(|id| draining.iter().any(|group| group.id() == id));
        for group in draining {
            let name = group.name();
            let left = control.left(group);
            if left.drained && self.0.insert(group.id().clone()) {
                control
                    .events()
                    .info(Kind::Drained, Some(name), "group drained");
            } else if !left.drained && self.0.remove(group.id()) {
                recorder.late_pin(name);
                let text = "a pin came late: the group is not drained any more";
                control.events().warn(Kind::Drained, Some(name), text);
            }
        }
    }
}

/// Looks and keeps until `shutdown`.
pub(crate) async fn follow(control: Control, recorder: Recorder, shutdown: CancellationToken) {
    let mut watch = Watch::default();
    let mut looks = interval(LOOK);
    for nth in 1_u32.. {
        tokio::select! {
            _ = looks.tick() => watch.look(&control, &recorder),
            () = shutdown.cancelled() => return,
        }
        if nth.is_multiple_of(KEEP) {
            let control = control.clone();
            match spawn_blocking(move || control.keep_expiries()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the end of pins was not kept"),
                Err(error) => tracing::error!(%error, "the end of pins was not kept"),
            }
        }
    }
}
