//! Waiting for the head of an answer.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::Response;
use hyper::body::Incoming;
use tower_affinity::respond::UpstreamFault;

use super::{
    AnswerBody, UpstreamError,
    body::{EndsUpload, Progress},
    deadline::{Deadline, Patience},
    link::{Broken, Come, Head},
    response,
    source::Source,
    timeouts::{EndpointTimeouts, TimeoutKind},
    timer::Timer,
    tunnel::Handover,
};

/// The future of an exchange; dropping it before its end gives the exchange up and closes the
/// connection.
#[must_use = "futures do nothing unless polled"]
pub struct ResponseFuture {
    state: State,
}

enum State {
    Sent(Exchange),
    Refused(Option<UpstreamError>),
}

/// A request on its way.
pub(super) struct Exchange {
    pub(super) head: Head,
    pub(super) deadline: Deadline,
    /// How long the answer's body may bring nothing.
    pub(super) idle: Option<Duration>,
    /// Boxed: few ask for a switch, and all others would move the room for it.
    pub(super) handover: Option<Box<Handover>>,
    pub(super) timeouts: Arc<EndpointTimeouts>,
}

impl ResponseFuture {
    pub(super) fn sent(exchange: Exchange) -> Self {
        Self {
            state: State::Sent(exchange),
        }
    }

    pub(super) fn refused(error: UpstreamError) -> Self {
        Self {
            state: State::Refused(Some(error)),
        }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<AnswerBody>, UpstreamError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.get_mut().state {
            State::Sent(exchange) => {
                let answer = ready!(exchange.poll_head(cx));
                Poll::Ready(answer.and_then(|(answer, source)| exchange.pass_on(answer, source)))
            }
            State::Refused(error) => {
                let error = error.take();
                Poll::Ready(Err(
                    error.unwrap_or_else(|| UpstreamError::new(UpstreamFault::Connect))
                ))
            }
        }
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Sent(_) => "sent",
            State::Refused(_) => "refused",
        };
        f.debug_tuple("ResponseFuture").field(&state).finish()
    }
}

type Answer = (Response<Incoming>, Source);

impl Exchange {
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answer, UpstreamError>> {
        loop {
            let late = match &mut self.head {
                Head::Sent(link) => match link.poll_head(cx) {
                    Poll::Ready(Ok(answer)) => return Poll::Ready(Ok((answer, self.source()))),
                    Poll::Ready(Err(Broken::Unsent)) => {
                        self.again();
                        continue;
                    }
                    Poll::Ready(Err(Broken::Lost(error))) => {
                        return Poll::Ready(Err(self.blamed(error)));
                    }
                    Poll::Pending => self.deadline.poll(|until| link.poll_until(until)),
                },
                Head::Apart { coming, timer } => match coming.as_mut().poll(cx) {
                    Poll::Ready(Ok(Come::Link(link))) => {
                        self.head = Head::Sent(link);
                        continue;
                    }
                    Poll::Ready(Ok(Come::Answer(answer, place))) => {
                        let timer = std::mem::take(timer);
                        let held = Some((self.ends_upload(), Some(place)));
                        let source = Source::Task { held, timer };
                        return Poll::Ready(Ok((answer, source)));
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(self.blamed(error))),
                    Poll::Pending => self.deadline.poll(|until| timer.poll(until, cx)),
                },
                Head::Gone => {
                    return Poll::Ready(Err(UpstreamError::new(UpstreamFault::Closed)));
                }
            };
            return late.map(|kind| Err(self.late(kind)));
        }
    }

    /// Another connection for a request that its own has not taken.
    fn again(&mut self) {
        if let Head::Sent(link) = std::mem::replace(&mut self.head, Head::Gone) {
            self.head = link.again();
        }
    }

    /// Who brings the body of the answer whose head has come over the connection.
    fn source(&mut self) -> Source {
        let Head::Sent(link) = std::mem::replace(&mut self.head, Head::Gone) else {
            return Source::Whole;
        };
        let upload = self.deadline.upload();
        if upload.is_none_or(Progress::is_sent) {
            return Source::Link(link);
        }
        // it goes on whether the client takes the answer or not
        link.run();
        Source::Task {
            held: Some((self.ends_upload(), None)),
            timer: Timer::default(),
        }
    }

    fn ends_upload(&self) -> Option<EndsUpload> {
        self.deadline.upload().cloned().map(EndsUpload)
    }

    /// The client's body may have broken first.
    fn blamed(&self, error: UpstreamError) -> UpstreamError {
        match self.deadline.upload().is_some_and(Progress::broke) {
            true => UpstreamError::new(UpstreamFault::RequestBody),
            false => error,
        }
    }

    fn late(&self, kind: TimeoutKind) -> UpstreamError {
        self.timeouts.note(kind);
        UpstreamError::new(UpstreamFault::Timeout)
    }

    fn pass_on(
        &mut self,
        mut answer: Response<Incoming>,
        source: Source,
    ) -> Result<Response<AnswerBody>, UpstreamError> {
        let source = match self.handover.take() {
            Some(handover) => handover.answered(&mut answer, source)?,
            None => {
                response::fit(&mut answer)?;
                source
            }
        };
        let (head, body) = answer.into_parts();
        let (idle, end) = (self.idle, self.deadline.end());
        let patience = |source: &Source| {
            let waits = !matches!(source, Source::Whole);
            let idle = idle.filter(|_| waits && !response::is_event_stream(&head.headers));
            Patience::new(idle, end)
        };
        let body = AnswerBody::new(body, source, patience, &self.timeouts);
        Ok(Response::from_parts(head, body))
    }
}
