//! How long the head of an answer may take, and the pieces of its body.

use std::task::{Poll, ready};

use tokio::time::{Duration, Instant};

use super::{
    body::Progress,
    timeouts::{Limits, TimeoutKind},
};

/// Ends when the request's body has not moved for the whole time, or when the exchange as a
/// whole takes too long. So a long upload does not count against the endpoint, nor does a client
/// that sends nothing of it, while an endpoint that takes nothing of it does.
#[derive(Debug)]
pub(super) struct Deadline {
    start: Instant,
    response: Duration,
    end: Option<Instant>,
    /// When it has to be looked at.
    next: Instant,
    /// Of a request without a body there is none.
    upload: Option<Progress>,
}

impl Deadline {
    pub(super) fn new(start: Instant, limits: &Limits, upload: Option<Progress>) -> Self {
        let end = limits.total.map(|total| start + total);
        let head = start + limits.response;
        Self {
            start,
            response: limits.response,
            end,
            next: end.map_or(head, |end| end.min(head)),
            upload,
        }
    }

    /// When the exchange as a whole has to be over.
    pub(super) fn end(&self) -> Option<Instant> {
        self.end
    }

    /// The client's body.
    pub(super) fn upload(&self) -> Option<&Progress> {
        self.upload.as_ref()
    }

    /// Waits for the end by `wait`, which waits for a moment.
    pub(super) fn poll(&mut self, mut wait: impl FnMut(Instant) -> Poll<()>) -> Poll<TimeoutKind> {
        loop {
            ready!(wait(self.next));
            let now = self.next;
            if self.end.is_some_and(|end| end <= now) {
                return Poll::Ready(TimeoutKind::Total);
            }
            let upload = self.upload.as_ref();
            let moved = upload.map_or(self.start, Progress::last);
            let head = match upload.is_some_and(Progress::waits) && moved + self.response <= now {
                // the client's time runs, not the endpoint's
                true => now + self.response,
                false => moved + self.response,
            };
            if head <= now {
                return Poll::Ready(TimeoutKind::Response);
            }
            self.next = self.end.map_or(head, |end| end.min(head));
        }
    }
}

/// How long the next piece of a body may take.
#[derive(Debug, Default)]
pub(super) struct Patience {
    idle: Option<Duration>,
    end: Option<Instant>,
    /// Until when a piece is waited for at present.
    until: Option<(Instant, TimeoutKind)>,
}

impl Patience {
    /// `idle` for each piece, and all of them until `end`.
    pub(super) fn new(idle: Option<Duration>, end: Option<Instant>) -> Self {
        Self {
            idle,
            end,
            until: None,
        }
    }

    /// Whether it never ends.
    pub(super) fn is_endless(&self) -> bool {
        self.idle.is_none() && self.end.is_none()
    }

    /// Whether the time of the whole is over.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| end <= Instant::now())
    }

    /// A piece has come.
    pub(super) fn rest(&mut self) {
        self.until = None;
    }

    /// Waits for the end by `wait`, which waits for a moment. Counted from the first time that
    /// nothing was there: while the client took what there was, nobody waited.
    pub(super) fn poll(&mut self, wait: impl FnOnce(Instant) -> Poll<()>) -> Poll<TimeoutKind> {
        if self.until.is_none() {
            let idle = self.idle;
            let idle = idle.map(|idle| (Instant::now() + idle, TimeoutKind::Idle));
            let total = self.end.map(|end| (end, TimeoutKind::Total));
            let both = idle.into_iter().chain(total);
            self.until = both.min_by_key(|(until, _)| *until);
        }
        let Some((until, kind)) = self.until else {
            return Poll::Pending;
        };
        ready!(wait(until));
        Poll::Ready(kind)
    }
}
