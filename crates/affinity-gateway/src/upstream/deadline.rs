//! How long the head of an answer may take.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::body::Progress;

pin_project! {
    /// Ends when the request's body has not moved for the whole time. So a long upload does not
    /// count against the endpoint, while an endpoint that takes nothing of it does.
    #[derive(Debug)]
    pub(super) struct Deadline {
        #[pin]
        sleep: Sleep,
        within: Duration,
        progress: Progress,
    }
}

impl Deadline {
    pub(super) fn new(within: Duration, progress: Progress) -> Self {
        Self {
            sleep: tokio::time::sleep(within),
            within,
            progress,
        }
    }
}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            ready!(this.sleep.as_mut().poll(cx));
            let end = this.progress.last() + *this.within;
            if end <= this.sleep.deadline() {
                return Poll::Ready(());
            }
            this.sleep.as_mut().reset(end);
        }
    }
}
