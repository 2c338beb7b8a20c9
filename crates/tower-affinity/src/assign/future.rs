//! The future of [`Assign`](super::Assign).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_affinity_core::{SessionPin, StoreCall};
use tower_service::Service;

use super::hop::tell_peer;
use super::question::{Asking, Question, Wait};
use super::service::serve;
use super::settle::Settle;
use super::state::State;
use crate::problem::speak_grpc;
use crate::{Affinity, ServedBy};

pin_project! {
    /// Settles the pin once the answer is there, or is our own answer.
    pub struct ResponseFuture<S, B, R>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        stage: Stage<S, B, R>,
    }
}

pin_project! {
    #[project = StageProj]
    enum Stage<S, B, R>
    where
        S: Service<Request<B>>,
    {
        // boxed: few requests wait, and the others need no room for it
        Undecided { undecided: Option<Box<Undecided<S, B>>> },
        Answered { #[pin] answer: Answer<S::Future, R> },
    }
}

/// A request whose decision waits for a newer state, or for the row that stands.
pub(super) struct Undecided<S, B> {
    pub(super) question: Question,
    pub(super) wait: Box<Wait>,
    pub(super) inner: S,
    pub(super) request: Request<B>,
    pub(super) state: Arc<State>,
}

pin_project! {
    #[project = AnswerProj]
    #[derive(Debug)]
    pub(super) enum Answer<F, R> {
        Inner { #[pin] inner: F, affinity: Affinity, settle: Settle, state: Arc<State>, grpc: bool },
        // boxed: few answers wait, and the others need no room for it
        Kept { kept: Option<Box<Kept<R>>> },
        Refused { response: Option<Response<R>>, affinity: Affinity, grpc: bool },
        // decided by a peer, which settles the pin
        OfPeer { #[pin] inner: F, affinity: Affinity, state: Arc<State>, grpc: bool },
    }
}

/// An answer that waits until the store has heard what it says.
#[derive(Debug)]
pub(super) struct Kept<R> {
    response: Response<R>,
    affinity: Affinity,
    grpc: bool,
    call: StoreCall<Option<SessionPin>>,
}

impl<F, R> Answer<F, R> {
    /// `grpc`: whether the client reads gRPC's statuses instead of HTTP's.
    #[inline]
    pub(super) fn inner(
        inner: F,
        affinity: Affinity,
        settle: Settle,
        state: Arc<State>,
        grpc: bool,
    ) -> Self {
        Self::Inner {
            inner,
            affinity,
            settle,
            state,
            grpc,
        }
    }

    pub(super) fn of_peer(inner: F, affinity: Affinity, state: Arc<State>, grpc: bool) -> Self {
        Self::OfPeer {
            inner,
            affinity,
            state,
            grpc,
        }
    }

    pub(super) fn refused(response: Response<R>, affinity: Affinity, grpc: bool) -> Self {
        Self::Refused {
            response: Some(response),
            affinity,
            grpc,
        }
    }
}

impl<S, B, R> ResponseFuture<S, B, R>
where
    S: Service<Request<B>>,
{
    #[inline]
    pub(super) fn answered(answer: Answer<S::Future, R>) -> Self {
        Self {
            stage: Stage::Answered { answer },
        }
    }

    pub(super) fn waiting(undecided: Undecided<S, B>) -> Self {
        Self {
            stage: Stage::Undecided {
                undecided: Some(Box::new(undecided)),
            },
        }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, R>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Output = Result<Response<R>, S::Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let stage = match self.as_mut().project().stage.project() {
                StageProj::Answered { answer } => return answer.poll(cx),
                StageProj::Undecided { undecided } => {
                    #[expect(
                        clippy::expect_used,
                        reason = "it is put back before this is polled again"
                    )]
                    let mut waited = undecided.take().expect("polled after it was ready");
                    let Poll::Ready(came) = waited.wait.poll(cx) else {
                        *undecided = Some(waited);
                        return Poll::Pending;
                    };
                    match waited.question.go_on(&waited.state, came) {
                        Asking::Decided(affinity) => {
                            let Undecided {
                                question,
                                mut inner,
                                request,
                                state,
                                ..
                            } = *waited;
                            let with = question.with();
                            let answer = serve(&mut inner, &state, request, affinity, with);
                            Stage::Answered { answer }
                        }
                        Asking::Wait(wait) => {
                            waited.wait = wait;
                            Stage::Undecided {
                                undecided: Some(waited),
                            }
                        }
                    }
                }
            };
            self.as_mut().project().stage.set(stage);
        }
    }
}

impl<F, R, E> Future for Answer<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: From<Bytes>,
{
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.as_mut().project() {
            AnswerProj::Inner {
                inner,
                affinity,
                settle,
                state,
                grpc,
            } => {
                // an answer is large: it is changed where it lies and not taken out
                let mut polled = inner.poll(cx);
                let Poll::Ready(Ok(response)) = &mut polled else {
                    return polled;
                };
                state.hear(response);
                let word = settle.settle(state, affinity.decision(), response);
                let served: Option<&ServedBy> = response.extensions().get();
                if let Some(left) = served.and_then(|by| affinity.left_for(by.endpoint())) {
                    *affinity = left;
                }
                let (affinity, grpc) = (affinity.clone(), *grpc);
                let call = word.and_then(|word| state.tell(word, settle.waited()));
                let Some(call) = call.filter(|call| matches!(call, StoreCall::Later(_))) else {
                    finish(response, affinity, grpc);
                    return polled;
                };
                let response = ready!(polled)?;
                let kept = Some(Box::new(Kept {
                    response,
                    affinity,
                    grpc,
                    call,
                }));
                self.set(Self::Kept { kept });
                self.poll(cx)
            }
            AnswerProj::Kept { kept } => {
                #[expect(
                    clippy::expect_used,
                    reason = "it is put back before this is polled again"
                )]
                let mut waited = kept.take().expect("polled after it was ready");
                // who guards the store has counted what fails; the pin that the client gets is
                // greater than the row, and repairs it
                if Pin::new(&mut waited.call).poll(cx).is_pending() {
                    *kept = Some(waited);
                    return Poll::Pending;
                }
                let Kept {
                    mut response,
                    affinity,
                    grpc,
                    ..
                } = *waited;
                finish(&mut response, affinity, grpc);
                Poll::Ready(Ok(response))
            }
            AnswerProj::Refused {
                response,
                affinity,
                grpc,
            } => {
                #[expect(
                    clippy::expect_used,
                    reason = "a future is not polled after it is ready"
                )]
                let mut response = response.take().expect("polled after it was ready");
                finish(&mut response, affinity.clone(), *grpc);
                Poll::Ready(Ok(response))
            }
            AnswerProj::OfPeer {
                inner,
                affinity,
                state,
                grpc,
            } => {
                let mut polled = inner.poll(cx);
                if let Poll::Ready(Ok(response)) = &mut polled {
                    state.hear(response);
                    tell_peer(response);
                    finish(response, affinity.clone(), *grpc);
                }
                polled
            }
        }
    }
}

#[inline]
fn finish<R: From<Bytes>>(response: &mut Response<R>, affinity: Affinity, grpc: bool) {
    if grpc {
        speak_grpc(response);
    }
    response.extensions_mut().insert(affinity);
}

impl<S, B, R> fmt::Debug for ResponseFuture<S, B, R>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
