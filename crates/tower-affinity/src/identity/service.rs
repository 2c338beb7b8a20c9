//! The service of [`GroupIdentityLayer`](super::GroupIdentityLayer).

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use tower_affinity_core::GroupName;
use tower_service::Service;

use super::future::ResponseFuture;
use crate::record::Recorder;
use crate::tag::GROUP;

/// Refuses requests that were meant for another group; see the [module](super).
#[derive(Clone, Debug)]
pub struct GroupIdentity<S> {
    inner: S,
    group: GroupName,
    recorder: Recorder,
}

impl<S> GroupIdentity<S> {
    pub(super) fn new(inner: S, group: GroupName, recorder: Recorder) -> Self {
        Self {
            inner,
            group,
            recorder,
        }
    }

    /// Whether a request is meant for this process. A name that came more than once is nobody's.
    fn is_meant(&self, headers: &HeaderMap) -> bool {
        let mut named = headers.get_all(GROUP).into_iter();
        match (named.next(), named.next()) {
            (None, _) => true,
            (Some(group), None) => group.as_bytes() == self.group.as_str().as_bytes(),
            (Some(_), Some(_)) => false,
        }
    }
}

impl<S, B, R> Service<Request<B>> for GroupIdentity<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.is_meant(request.headers()) {
            return ResponseFuture::inner(self.inner.call(request));
        }
        // what was named is not logged: anybody may have sent it
        tracing::warn!(group = %self.group, "request for another group refused");
        self.recorder.misdirected(&self.group);
        ResponseFuture::refused()
    }
}
