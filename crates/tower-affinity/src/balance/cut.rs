//! [`Cut`]: waiting for the end of what a request has open.

use std::pin::Pin;
use std::task::{Context, Poll};

use thiserror::Error;

use super::lease::Lease;

/// The answer was cut, because its group was aborted or has drained for as long as it may.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the answer was cut: its group is not served any more")]
pub struct StreamCut;

/// Holds a request's [`Lease`] and resolves when what the request has open is to end, because its
/// group was aborted or has drained for as long as it may.
///
/// Whoever tunnels an upgraded connection stops copying then. Answers' bodies break by themselves,
/// with [`StreamCut`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Cut {
    lease: Lease,
    slot: Option<usize>,
}

impl Cut {
    /// The cut of what holds `lease`.
    pub fn of(lease: Lease) -> Self {
        Self { lease, slot: None }
    }

    pub(super) fn is_due(&self) -> bool {
        self.lease.is_cut()
    }
}

impl Future for Cut {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let switch = this.lease.switch();
        // waiting comes before looking, so that no cut falls between the two
        switch.wait(&mut this.slot, cx.waker());
        if switch.is_cut() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
