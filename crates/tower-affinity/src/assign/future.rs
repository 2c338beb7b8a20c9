//! The future of [`Assign`](super::Assign).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::question::{Asking, Question};
use super::service::serve;
use super::settle::Settle;
use super::state::State;
use crate::Affinity;
use crate::problem::speak_grpc;
use crate::rollouts::Waiting;

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
        Behind { behind: Option<Box<Behind<S, B>>> },
        Answered { #[pin] answer: Answer<S::Future, R> },
    }
}

/// A request whose group only a newer state can tell of.
pub(super) struct Behind<S, B> {
    pub(super) question: Question,
    pub(super) waiting: Waiting,
    pub(super) inner: S,
    pub(super) request: Request<B>,
    pub(super) state: Arc<State>,
}

pin_project! {
    #[project = AnswerProj]
    #[derive(Debug)]
    pub(super) enum Answer<F, R> {
        Inner { #[pin] inner: F, affinity: Affinity, settle: Settle, state: Arc<State>, grpc: bool },
        Refused { response: Option<Response<R>>, affinity: Affinity, grpc: bool },
    }
}

impl<F, R> Answer<F, R> {
    /// `grpc`: whether the client reads gRPC's statuses instead of HTTP's.
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
    pub(super) fn answered(answer: Answer<S::Future, R>) -> Self {
        Self {
            stage: Stage::Answered { answer },
        }
    }

    pub(super) fn waiting(behind: Behind<S, B>) -> Self {
        Self {
            stage: Stage::Behind {
                behind: Some(Box::new(behind)),
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

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let stage = match self.as_mut().project().stage.project() {
                StageProj::Answered { answer } => return answer.poll(cx),
                StageProj::Behind { behind } => {
                    #[expect(
                        clippy::expect_used,
                        reason = "it is put back before this is polled again"
                    )]
                    let mut waited = behind.take().expect("polled after it was ready");
                    let Poll::Ready(newer) = Pin::new(&mut waited.waiting).poll(cx) else {
                        *behind = Some(waited);
                        return Poll::Pending;
                    };
                    let Behind {
                        question,
                        waiting: _,
                        mut inner,
                        request,
                        state,
                    } = *waited;
                    match question.ask(&state, newer) {
                        Asking::Decided(decision, settle) => Stage::Answered {
                            answer: serve(&mut inner, &state, request, decision, settle),
                        },
                        // the rule waits only while nobody has asked yet
                        Asking::Behind(question, waiting) => Stage::Behind {
                            behind: Some(Box::new(Behind {
                                question,
                                waiting,
                                inner,
                                request,
                                state,
                            })),
                        },
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (mut response, affinity, grpc) = match self.project() {
            AnswerProj::Inner {
                inner,
                affinity,
                settle,
                state,
                grpc,
            } => {
                let mut response = ready!(inner.poll(cx))?;
                settle.settle(state, affinity.decision(), &mut response);
                (response, affinity, *grpc)
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
                let response = response.take().expect("polled after it was ready");
                (response, affinity, *grpc)
            }
        };
        if grpc {
            speak_grpc(&mut response);
        }
        response.extensions_mut().insert(affinity.clone());
        Poll::Ready(Ok(response))
    }
}

impl<S, B, R> fmt::Debug for ResponseFuture<S, B, R>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
