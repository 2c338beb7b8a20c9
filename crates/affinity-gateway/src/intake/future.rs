//! The answer of the inner service, or our own in its place.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use http_body::Body;
use pin_project_lite::pin_project;
use tower_affinity::{OwnAnswer, speak_grpc};

use super::{
    body::{BodyFault, Verdict},
    refusal,
};

pin_project! {
    /// The future of [`Intake`](super::Intake).
    #[project = IntakeProj]
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub(crate) enum IntakeFuture<F> {
        Passed { #[pin] inner: F, verdict: Option<Verdict>, grpc: bool },
        Refused { fault: BodyFault, grpc: bool },
    }
}

impl<F, R, E> Future for IntakeFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body + From<Bytes>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (fault, grpc) = match self.project() {
            IntakeProj::Passed {
                inner,
                verdict,
                grpc,
            } => {
                let answer = ready!(inner.poll(cx))?;
                match verdict.as_ref().and_then(Verdict::get) {
                    // an endpoint's answer that was faster counts
                    Some(fault) if answer.extensions().get::<OwnAnswer>().is_some() => {
                        take(answer.into_body(), cx);
                        (fault, *grpc)
                    }
                    _ => return Poll::Ready(Ok(answer)),
                }
            }
            IntakeProj::Refused { fault, grpc } => (*fault, *grpc),
        };
        let mut answer = refusal(fault).answer();
        if grpc {
            speak_grpc(&mut answer);
        }
        Poll::Ready(Ok(answer))
    }
}

/// Takes an answer of ours to its end, which is there already: dropped before it, the request would
/// count as one whose client went away.
fn take(body: impl Body, cx: &mut Context<'_>) {
    let mut body = pin!(body);
    while let Poll::Ready(Some(Ok(_))) = body.as_mut().poll_frame(cx) {}
}
