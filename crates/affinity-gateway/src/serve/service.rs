//! The service of one connection: what all of its requests and answers have in common.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Version, header::CONNECTION};
use pin_project_lite::pin_project;
use tower_affinity::{PeerAddr, Problem};
use tower_service::Service;

use super::activity::{Activity, InFlight};
use super::counted::Counted;
use super::framing::{Fault, Gate, Interim, Way};
use super::{ConnectionRecorder, streams};
use crate::edge::EarlyRecorder;
use crate::scheme::Scheme;

/// Passes the requests of one connection on, with what is known of where they came from: each has a
/// [`PeerAddr`], its [`Scheme`] unless that is the default, and on HTTP/1.1 an [`Interim`]; HTTP/1.0
/// knows no interim answers, and hyper sends none on HTTP/2.
///
/// The stand-in of a request that was refused is answered here. Once the connection is to end, answers
/// on HTTP/1.1 say so with `Connection: close`: whoever has read that sends no more on it, so no
/// request is lost.
///
/// It is one service and not one for each of these, because each would move request and answer again.
#[derive(Clone)]
pub(super) struct ConnectionService<S> {
    inner: S,
    peer: PeerAddr,
    scheme: Scheme,
    way: Arc<Way>,
    activity: Activity,
    early: Arc<dyn EarlyRecorder>,
}

impl<S> ConnectionService<S> {
    /// `early` is told of requests that were refused, `events` of interim answers.
    pub(super) fn new(
        inner: S,
        (peer, scheme): (SocketAddr, Scheme),
        gate: Gate,
        activity: Activity,
        early: Arc<dyn EarlyRecorder>,
        events: Arc<dyn ConnectionRecorder>,
    ) -> Self {
        Self {
            inner,
            peer: PeerAddr(peer),
            scheme,
            way: Arc::new(Way::new(gate, events)),
            activity,
            early,
        }
    }

    fn refuse(&self, fault: Fault) {
        tracing::debug!(detail = fault.detail(), "request refused");
        self.early.refused(fault.status());
    }
}

impl<S, Q, B> Service<Request<Q>> for ConnectionService<S>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: From<Bytes>,
{
    type Response = Response<Counted<B>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let in_flight = Some(self.activity.begin());
        let is_http_11 = request.version() == Version::HTTP_11;
        let source = match self.way.gate().arrive() {
            Ok(place) => {
                let extensions = request.extensions_mut();
                extensions.insert(self.peer);
                if self.scheme != Scheme::default() {
                    extensions.insert(self.scheme);
                }
                if is_http_11 {
                    extensions.insert(Interim::new(&self.way, place));
                }
                Source::Service {
                    inner: self.inner.call(request),
                    gate: self.way.gate().clone(),
                }
            }
            Err(fault) => {
                self.refuse(fault);
                Source::Refused { fault }
            }
        };
        Answering {
            source,
            in_flight,
            // HTTP/1.0 closes unless told otherwise, HTTP/2 says it with a frame of its own
            says_close: is_http_11,
        }
    }
}

pin_project! {
    /// The future of [`ConnectionService`].
    #[derive(Debug)]
    pub(super) struct Answering<F> {
        #[pin]
        source: Source<F>,
        in_flight: Option<InFlight>,
        says_close: bool,
    }
}

pin_project! {
    /// Who answers.
    #[project = SourceProj]
    #[derive(Debug)]
    enum Source<F> {
        Service { #[pin] inner: F, gate: Gate },
        Refused { fault: Fault },
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: From<Bytes>,
{
    type Output = Result<Response<Counted<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut answer = match this.source.project() {
            SourceProj::Service { inner, gate } => {
                let answer = ready!(inner.poll(cx))?;
                gate.answer(answer.status() == StatusCode::SWITCHING_PROTOCOLS);
                answer
            }
            SourceProj::Refused { fault } => {
                Problem::BadRequest.response_with(fault.status(), fault.detail())
            }
        };
        let ends = this.in_flight.as_ref().is_some_and(InFlight::is_last);
        if ends && *this.says_close && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
        }
        let in_flight = this.in_flight.take();
        streams::hand_out();
        Poll::Ready(Ok(answer.map(|body| Counted::new(body, in_flight))))
    }
}

impl<S: fmt::Debug> fmt::Debug for ConnectionService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionService")
            .field("inner", &self.inner)
            .field("peer", &self.peer)
            .field("scheme", &self.scheme)
            .field("activity", &self.activity)
            .finish_non_exhaustive()
    }
}
