//! Follows the state that replicas share.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::control::Member;

/// How long the engine is believed to tell of a change: a wait that was lost is noticed then.
const LOOK: Duration = Duration::from_secs(2);

/// How soon it is tried again after the engine did not answer.
const AGAIN: Duration = Duration::from_millis(250);

/// The shortest time between two fetches, however many requests want one.
const GAP: Duration = Duration::from_millis(10);

/// Takes every state that others publish, until `shutdown`.
pub(crate) async fn follow(member: Member, shutdown: CancellationToken) {
    let follows = async {
        loop {
            let synced = member.sync().await;
            let pause = if synced.is_ok() { LOOK } else { AGAIN };
            let in_reach = synced.is_ok();
            tokio::select! {
                changed = member.changed(synced.ok()) => {
                    sleep(if in_reach && changed.is_ok() { GAP } else { AGAIN }).await;
                }
                () = sleep(pause) => {}
            }
        }
    };
    tokio::select! {
        () = follows => {}
        () = shutdown.cancelled() => {}
    }
}
