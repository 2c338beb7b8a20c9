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

/// How soon the others are heard again that have not accepted a drain yet, or when the engine did not
/// answer.
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

/// How long the others can wait for the next word.
fn pace(control: &Control) -> Duration {
    let rollout = control.rollouts().current();
    let soon = control.now().plus(BEAT);
    let wait = |group: &Group| {
        let left = control.left(group);
        match left.after {
            _ if left.drained => BEAT,
            None => AGAIN,
            // what is open ends in its own time, which may be hours
            Some(_) if left.open > 0 => AGAIN,
            Some(after) if after <= soon => DRAINING,
            Some(_) => BEAT,
        }
    };
    let draining = |group: &&Group| matches!(group.state(), State::Draining { .. });
    let waits = rollout.groups().iter().filter(draining).map(wait);
    // what the others say may be older than what they have put right since
    let unfit = (!control.is_fit()).then_some(AGAIN);
    waits.chain(unfit).min().unwrap_or(BEAT)
}
