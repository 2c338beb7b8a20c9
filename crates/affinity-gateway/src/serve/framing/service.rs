//! The service's end of the gate: answers for what the stream refused.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{Either, Full};
use pin_project_lite::pin_project;
use tower_affinity::Problem;
use tower_service::Service;

use super::fault::Fault;
use super::gate::Gate;
use super::interim::{Interim, Way};
use crate::edge::EarlyRecorder;
use crate::serve::ConnectionRecorder;

/// Passes requests on, but for the stand-in of one that was refused: that is answered here.
///
/// A request on HTTP/1.1 carries an [`Interim`]; HTTP/1.0 knows no interim answers, and hyper sends
/// none on HTTP/2.
#[derive(Clone)]
pub(in crate::serve) struct Gated<S> {
    inner: S,
    way: Arc<Way>,
    recorder: Arc<dyn EarlyRecorder>,
}

impl<S> Gated<S> {
    pub(in crate::serve) fn new(
        inner: S,
        gate: Gate,
        recorder: Arc<dyn EarlyRecorder>,
        connections: Arc<dyn ConnectionRecorder>,
    ) -> Self {
        let way = Arc::new(Way {
            gate,
            recorder: connections,
        });
        Self {
            inner,
            way,
            recorder,
        }
    }
}

impl<S, Q, B> Service<Request<Q>> for Gated<S>
where
    S: Service<Request<Q>, Response = Response<B>>,
{
    type Response = Response<Either<B, Full<Bytes>>>;
    type Error = S::Error;
    type Future = GatedFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        match self.way.gate.arrive() {
            Err(fault) => {
                tracing::debug!(detail = fault.detail(), "request refused");
                self.recorder.refused(fault.status());
                GatedFuture::Refused { fault }
            }
            Ok(place) => {
                if request.version() == Version::HTTP_11 {
                    let interim = Interim::new(&self.way, place);
                    request.extensions_mut().insert(interim);
                }
                GatedFuture::Passed {
                    inner: self.inner.call(request),
                    gate: self.way.gate.clone(),
                }
            }
        }
    }
}

pin_project! {
    /// The answer of [`Gated`].
    #[project = GatedProj]
    pub(in crate::serve) enum GatedFuture<F> {
        Passed { #[pin] inner: F, gate: Gate },
        Refused { fault: Fault },
    }
}

impl<F, B, E> Future for GatedFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<Either<B, Full<Bytes>>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.project() {
            GatedProj::Passed { inner, gate } => {
                let answer = ready!(inner.poll(cx))?;
                gate.answer(answer.status() == StatusCode::SWITCHING_PROTOCOLS);
                Ok(answer.map(Either::Left))
            }
            GatedProj::Refused { fault } => {
                let answer = Problem::BadRequest.response_with(fault.status(), fault.detail());
                Ok(answer.map(Either::Right))
            }
        })
    }
}

impl<S: std::fmt::Debug> std::fmt::Debug for Gated<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gated")
            .field("inner", &self.inner)
            .field("gate", &self.way.gate)
            .finish_non_exhaustive()
    }
}
