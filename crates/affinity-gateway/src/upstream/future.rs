//! Waiting for the head of an answer.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use pin_project_lite::pin_project;

use tower_affinity::respond::UpstreamFault;

use super::{Passed, UpstreamError, deadline::Deadline, response, tunnel::Handover};

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
            // hyper-util boxes this one: it is the wait for the network.
            #[pin]
            head: legacy::ResponseFuture,
            #[pin]
            deadline: Deadline,
            handover: Option<Handover>,
        },
        Refused {
            error: Option<UpstreamError>,
        },
    }
}

impl ResponseFuture {
    pub(super) fn sent(
        head: legacy::ResponseFuture,
        deadline: Deadline,
        handover: Option<Handover>,
    ) -> Self {
        Self {
            state: State::Sent {
                head,
                deadline,
                handover,
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
    type Output = Result<Response<Passed<Incoming>>, UpstreamError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Sent {
                head,
                deadline,
                handover,
            } => match head.poll(cx) {
                Poll::Ready(Ok(answer)) => Poll::Ready(answered(answer, handover.take())),
                Poll::Ready(Err(error)) => Poll::Ready(Err(error.into())),
                Poll::Pending => deadline
                    .poll(cx)
                    .map(|()| Err(UpstreamError::new(UpstreamFault::Timeout))),
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
) -> Result<Response<Passed<Incoming>>, UpstreamError> {
    match handover {
        Some(handover) if answer.status() == StatusCode::SWITCHING_PROTOCOLS => {
            handover.open(&mut answer);
            response::switch(&mut answer);
            Ok(answer.map(Passed::new))
        }
        _ => response::pass_on(answer).map(|answer| answer.map(Passed::new)),
    }
}
