//! Watches whether sessions that were moved are still known to be signed in.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tower_affinity::record::Recorder;

use crate::control::Control;
use crate::events::Kind;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(1);

/// Looks until `shutdown`, and tells what begins and what is over.
pub(crate) async fn watch(control: Control, recorder: Recorder, shutdown: CancellationToken) {
    let start = Instant::now();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => look(&control, &recorder, start.elapsed()),
            () = shutdown.cancelled() => return,
        }
    }
}

fn look(control: &Control, recorder: &Recorder, elapsed: Duration) {
    let revision = control.rollouts().current().revision();
    let news = recorder.watch_auth(elapsed, control.now(), revision);
    for burst in news.began {
        let group = burst.group.parse().ok();
        let text = burst.to_string();
        control.events().warn(Kind::Login, group.as_ref(), &text);
    }
    for group in news.over {
        let group = group.parse().ok();
        let text = "sessions that were moved here authenticate as usual again";
        control.events().info(Kind::Login, group.as_ref(), text);
    }
}
