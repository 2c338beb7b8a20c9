//! What this replica says of itself, again and again, and what it hears of the others.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tower_affinity::core::{Group, State};
use tower_affinity::record::Recorder;

use crate::causes::with_causes;
use crate::control::{Control, Member};

/// How often a replica says that it is alive.
const BEAT: Duration = Duration::from_secs(10);

/// How often when a group is about to be drained: that is only known from words that are newer than
/// its last pin.
const DRAINING: Duration = Duration::from_millis(250);

/// How soon it is tried again after the engine did not answer.
const AGAIN: Duration = Duration::from_secs(1);

/// Speaks and listens until `shutdown`; `admin` is where people find this replica.
pub(crate) async fn beat(
    member: Member,
    recorder: Recorder,
    admin: String,
    shutdown: CancellationToken,
) {
    let control = member.control().clone();
    let (sender, mut changed) = watch::channel(());
    control.rollouts().subscribe(move |_| {
        sender.send_replace(());
    });
    let beats = async {
        loop {
            changed.borrow_and_update();
            let pause = match member.speak_and_listen(&recorder, &admin).await {
                Ok(()) => pace(&control),
                Err(error) => {
                    let error = with_causes(&error);
                    tracing::debug!(error, "the other replicas do not hear this one");
                    AGAIN
                }
            };
            tokio::select! {
                // who drains a group waits for the word of every replica
                _ = changed.changed() => {}
                () = sleep(pause) => {}
            }
        }
    };
    tokio::select! {
        () = beats => {}
        () = shutdown.cancelled() => {}
    }
}

fn pace(control: &Control) -> Duration {
    let rollout = control.rollouts().current();
    let soon = control.now().plus(BEAT);
    let ends = |group: &&Group| {
        let left = control.left(group);
        !left.drained && left.after.is_some_and(|after| after <= soon)
    };
    let draining = |group: &&Group| matches!(group.state(), State::Draining { .. });
    match rollout
        .groups()
        .iter()
        .filter(draining)
        .any(|group| ends(&group))
    {
        true => DRAINING,
        false => BEAT,
    }
}
