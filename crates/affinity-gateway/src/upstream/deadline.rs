//! How long the head of an answer may take.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};

use super::{
    body::Progress,
    timeouts::{Limits, TimeoutKind},
};

pin_project! {
    /// Ends when the request's body has not moved for the whole time, or when the exchange as a
    /// whole takes too long. So a long upload does not count against the endpoint, nor does a client
    /// that sends nothing of it, while an endpoint that takes nothing of it does.
    #[derive(Debug)]
    pub(super) struct Deadline {
        #[pin]
        sleep: Sleep,
        limits: Limits,
        end: Option<Instant>,
        progress: Progress,
    }
}

impl Deadline {
    pub(super) fn new(limits: Limits, progress: Progress) -> Self {
        let end = limits.total.map(|total| progress.start() + total);
        let head = progress.start() + limits.response;
        Self {
            sleep: tokio::time::sleep_until(end.map_or(head, |end| end.min(head))),
            limits,
            end,
            progress,
        }
    }

    /// When the exchange as a whole has to be over.
    pub(super) fn end(&self) -> Option<Instant> {
        self.end
    }

    /// The client's body.
    pub(super) fn upload(&self) -> &Progress {
        &self.progress
    }
}

impl Future for Deadline {
    type Output = TimeoutKind;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TimeoutKind> {
        let mut this = self.project();
        loop {
            ready!(this.sleep.as_mut().poll(cx));
            let now = this.sleep.deadline();
            if this.end.is_some_and(|end| end <= now) {
                return Poll::Ready(TimeoutKind::Total);
            }
            let head = this.progress.last() + this.limits.response;
            let head = match head <= now && this.progress.waits() {
                // the client's time runs, not the endpoint's
                true => now + this.limits.response,
                false => head,
            };
            if head <= now {
                return Poll::Ready(TimeoutKind::Response);
            }
            let next = this.end.map_or(head, |end| end.min(head));
            this.sleep.as_mut().reset(next);
        }
    }
}
