//! The service of [`RequireGroupLayer`](super::RequireGroupLayer).

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tower_affinity_core::GroupName;
use tower_service::Service;

use super::future::ResponseFuture;
use crate::problem::{NOT_SET_UP, OTHER_COMMIT};
use crate::record::Recorder;
use crate::{Affinity, Problem};

/// Serves what was decided for one group; see the [module](super).
#[derive(Clone, Debug)]
pub struct RequireGroupService<S> {
    inner: S,
    group: GroupName,
    recorder: Recorder,
}

impl<S> RequireGroupService<S> {
    pub(super) fn new(inner: S, group: GroupName, recorder: Recorder) -> Self {
        Self {
            inner,
            group,
            recorder,
        }
    }
}

impl<S, B, R> Service<Request<B>> for RequireGroupService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match request.extensions().get::<Affinity>() {
            Some(affinity) if affinity.group() == self.group.as_str() => {
                ResponseFuture::inner(self.inner.call(request))
            }
            Some(affinity) => {
                tracing::warn!(group = %self.group, decided = affinity.group(), "request for another group refused");
                self.recorder.misdirected(&self.group);
                let status = StatusCode::MISDIRECTED_REQUEST;
                ResponseFuture::refused(Problem::WrongGroup.response_with(status, OTHER_COMMIT))
            }
            None => {
                tracing::error!(
                    "a group is required of requests that no AffinityLayer has decided"
                );
                ResponseFuture::refused(Problem::Internal.response(NOT_SET_UP))
            }
        }
    }
}
