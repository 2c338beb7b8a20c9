//! Waiting for the head of an answer.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, Response, header};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tower_affinity::{balance::Tunnelled, respond::UpstreamFault};

use super::{
    AnswerBody, UpstreamError,
    body::EndsUpload,
    deadline::Deadline,
    pool::Head,
    response,
    shared::Place,
    timeouts::{EndpointTimeouts, Limits},
    tunnel::Handover,
};

pin_project! {
    /// The future of an exchange; dropping it before its end gives the exchange up and closes the
    /// connection.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture {
        #[pin]
        state: State,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State {
        Sent {
            head: Head,
            #[pin]
            deadline: Deadline,
            handover: Option<Handover>,
            limits: Limits,
            timeouts: EndpointTimeouts,
        },
        Refused {
            error: Option<UpstreamError>,
        },
    }
}

impl ResponseFuture {
    pub(super) fn sent(
        head: Head,
        deadline: Deadline,
        handover: Option<Handover>,
        limits: Limits,
        timeouts: EndpointTimeouts,
    ) -> Self {
        Self {
            state: State::Sent {
                head,
                deadline,
                handover,
                limits,
                timeouts,
            },
        }
    }

    pub(super) fn refused(error: UpstreamError) -> Self {
        Self {
            state: State::Refused { error: Some(error) },
        }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<AnswerBody>, UpstreamError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Sent {
                head,
                deadline,
                handover,
                limits,
                timeouts,
            } => match Pin::new(head).poll(cx) {
                Poll::Ready(Ok(answer)) => {
                    let end = deadline.end();
                    let answer = answered(answer, handover.take());
                    Poll::Ready(answer.map(|(answer, place)| {
                        let idle = limits.idle.filter(|_| !is_event_stream(answer.headers()));
                        let timeouts = timeouts.clone();
                        let upload = EndsUpload(deadline.upload().clone());
                        answer.map(|body| AnswerBody::new(body, idle, end, timeouts, upload, place))
                    }))
                }
                Poll::Ready(Err(_)) if deadline.upload().broke() => {
                    Poll::Ready(Err(UpstreamError::new(UpstreamFault::RequestBody)))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => deadline.poll(cx).map(|kind| {
                    timeouts.note(kind);
                    Err(UpstreamError::new(UpstreamFault::Timeout))
                }),
            },
            StateProj::Refused { error } => Poll::Ready(Err(error
                .take()
                .unwrap_or_else(|| UpstreamError::new(UpstreamFault::Connect)))),
        }
    }
}

fn answered(
    mut answer: Response<Incoming>,
    handover: Option<Handover>,
) -> Result<(Response<Incoming>, Option<Place>), UpstreamError> {
    let place = answer.extensions_mut().remove::<Place>();
    let Some(handover) = handover else {
        return response::pass_on(answer).map(|answer| (answer, place));
    };
    let (status, switch) = (answer.status(), handover.switch.clone());
    if !switch.is_agreed(status, answer.headers()) {
        if switch.would_mislead(status) {
            return Err(UpstreamError::new(UpstreamFault::Declined));
        }
        return response::pass_on(answer).map(|answer| (answer, place));
    }
    handover.open(hyper::upgrade::on(&mut answer), place);
    let (mut parts, body) = answer.into_parts();
    switch.agree(&mut parts.status, &mut parts.headers);
    parts.extensions.insert(Tunnelled);
    Ok((Response::from_parts(parts, body), None))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map(|kind| kind.as_bytes());
    let essence = kind.and_then(|kind| kind.split(|byte| *byte == b';').next());
    essence.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
}
