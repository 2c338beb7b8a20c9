//! The future of [`GroupMetrics`](super::GroupMetrics).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;

use super::body::MetricsBody;
use super::head::Heads;
use super::running::Running;
use super::series::CodeClass;
use crate::balance::Lease;
use crate::misplaced::Misplaced;

pin_project! {
    /// Counts the request if it fails or is dropped; else its body does.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
        running: Option<Running>,
        heads: Heads,
        is_head: bool,
        misplaced: Option<Misplaced>,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(
        inner: F,
        running: Running,
        heads: Heads,
        is_head: bool,
        misplaced: Option<Misplaced>,
    ) -> Self {
        Self {
            inner,
            running: Some(running),
            heads,
            is_head,
            misplaced,
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body,
{
    type Output = Result<Response<MetricsBody<R>>, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(cx));
        let mut running = this.running.take();
        let mut response = match answer {
            Ok(response) => response,
            Err(error) => {
                if let Some(running) = running {
                    running.failed();
                }
                return Poll::Ready(Err(error));
            }
        };
        if let Some(misplaced) = this.misplaced {
            misplaced.look(response.extensions(), "GroupMetricsLayer");
        }
        let class = CodeClass::of_grpc(response.headers())
            .unwrap_or_else(|| CodeClass::of(response.status()));
        if let Some(running) = &mut running {
            running.answered(&mut response, class, this.heads);
        }
        let tunnel = response.extensions_mut().remove::<Lease>();
        let running = match (running, tunnel) {
            (Some(mut running), Some(lease)) => {
                running.is_whole(class);
                lease.hold(running);
                None
            }
            (Some(running), None) if *this.is_head || has_no_body(&response) => {
                running.end(class);
                None
            }
            (running, _) => running,
        };
        Poll::Ready(Ok(
            response.map(|body| MetricsBody::new(body, running, class))
        ))
    }
}

/// Whether nobody will ask for the body's end.
fn has_no_body<R: Body>(response: &Response<R>) -> bool {
    matches!(
        response.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    ) || response.body().is_end_stream()
}
