//! The layer and its service.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_affinity::is_grpc;
use tower_layer::Layer;
use tower_service::Service;

use super::body::{BodyFault, Verdict};
use super::future::IntakeFuture;
use super::{BodyLimits, Bounded, refusal};
use crate::edge::EarlyRecorder;

/// Bounds the bodies of requests; see the [module](super).
#[derive(Clone)]
pub(crate) struct IntakeLayer {
    limits: Arc<BodyLimits>,
    recorder: Arc<dyn EarlyRecorder>,
}

impl IntakeLayer {
    /// `recorder` is told of what is refused before it is passed on.
    pub(crate) fn new(limits: BodyLimits, recorder: impl EarlyRecorder) -> Self {
        Self {
            limits: Arc::new(limits),
            recorder: Arc::new(recorder),
        }
    }
}

impl<S> Layer<S> for IntakeLayer {
    type Service = Intake<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Intake {
            inner,
            settings: self.clone(),
        }
    }
}

/// Made by [`IntakeLayer`].
#[derive(Clone)]
pub(crate) struct Intake<S> {
    inner: S,
    settings: IntakeLayer,
}

impl<S, B, R> Service<Request<B>> for Intake<S>
where
    S: Service<Request<Bounded<B>>, Response = Response<R>>,
    B: Body,
    R: Body + From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = IntakeFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let limits = &self.settings.limits;
        // nothing is to be told of a body that is not there
        if request.body().is_end_stream() {
            let request = request.map(Bounded::ended);
            return IntakeFuture::Passed {
                inner: self.inner.call(request),
                verdict: None,
                grpc: false,
            };
        }
        let grpc = is_grpc(request.headers());
        let most = limits.most(request.uri().path());
        if request.body().size_hint().lower() > most {
            let fault = BodyFault::TooLong;
            (limits.told)(fault);
            self.settings.recorder.refused(refusal(fault).status);
            return IntakeFuture::Refused { fault, grpc };
        }
        let (verdict, limits) = (Verdict::default(), Arc::clone(limits));
        let told = verdict.clone();
        let request = request.map(|body| Bounded::new(body, most, limits, told));
        IntakeFuture::Passed {
            inner: self.inner.call(request),
            verdict: Some(verdict),
            grpc,
        }
    }
}

impl std::fmt::Debug for IntakeLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IntakeLayer")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl<S: std::fmt::Debug> std::fmt::Debug for Intake<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake")
            .field("inner", &self.inner)
            .field("settings", &self.settings)
            .finish()
    }
}
