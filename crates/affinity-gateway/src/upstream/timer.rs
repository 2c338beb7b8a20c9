//! A timer that is set anew only when it has to be.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    task::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

/// Kept with what may have to wait many times, such as a connection. Most waits end long before
/// their time, so it is left set to the time of an earlier one, and looks then.
#[derive(Debug, Default)]
pub(super) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Whether it wakes by itself at `until` or before, so that nothing has to be done.
    pub(super) fn wakes_by(&self, until: Instant) -> bool {
        let sleep = self.0.as_ref();
        sleep.is_some_and(|sleep| sleep.deadline() <= until && !sleep.is_elapsed())
    }

    /// Waits until then; `cx` may be woken before.
    pub(super) fn poll(&mut self, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if sleep.deadline() != until {
            sleep.as_mut().reset(until);
        }
        // a task that has used its budget up would be told to wait without being registered
        Pin::new(&mut unconstrained(sleep.as_mut())).poll(cx)
    }
}
