//! Waiting for the head of an answer.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{HeaderMap, Response, header};
use hyper::body::Incoming;
use tower_affinity::{balance::Tunnelled, respond::UpstreamFault};

use super::{
    AnswerBody, UpstreamError,
    answer::Source,
    body::{EndsUpload, Progress},
    deadline::Deadline,
    link::{Broken, Come, Head},
    response,
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
        answer: Response<Incoming>,
        source: Source,
    ) -> Result<Response<AnswerBody>, UpstreamError> {
        let (answer, source) = match self.handover.take() {
            Some(handover) => switched(answer, source, *handover)?,
            None => (response::pass_on(answer)?, source),
        };
        let idle = self.idle.filter(|_| !is_event_stream(answer.headers()));
        let (end, timeouts) = (self.deadline.end(), Arc::clone(&self.timeouts));
        Ok(answer.map(|body| AnswerBody::new(body, source, idle, end, timeouts)))
    }
}

/// An answer to a request for a switch of protocols.
fn switched(
    mut answer: Response<Incoming>,
    source: Source,
    handover: Handover,
) -> Result<Answer, UpstreamError> {
    let (status, switch) = (answer.status(), handover.switch.clone());
    if !switch.is_agreed(status, answer.headers()) {
        if switch.would_mislead(status) {
            return Err(UpstreamError::new(UpstreamFault::Declined));
        }
        return Ok((response::pass_on(answer)?, source));
    }
    let (source, place) = source.switched();
    handover.open(hyper::upgrade::on(&mut answer), place);
    let (mut parts, body) = answer.into_parts();
    switch.agree(&mut parts.status, &mut parts.headers);
    parts.extensions.insert(Tunnelled);
    Ok((Response::from_parts(parts, body), source))
}
fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map(|kind| kind.as_bytes());
    let essence = kind.and_then(|kind| kind.split(|byte| *byte == b';').next());
    essence.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
}
