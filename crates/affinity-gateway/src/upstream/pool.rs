//! Connections to endpoints that speak one protocol.

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, Client},
    rt::{TokioExecutor, TokioTimer},
};

use super::{
    EndpointProtocol, UpstreamError, UpstreamOptions, body::Forwarded, dial::Dialer,
    multiplexed::Multiplexed,
};

/// The connections of one protocol and TLS setting, kept by address.
pub(super) struct Pool<B> {
    secure: bool,
    kind: Kind<B>,
}

enum Kind<B> {
    Http1(Box<Client<Dialer, Forwarded<B>>>),
    Http2(Multiplexed<Forwarded<B>>),
}

/// The wait for the head of an answer.
pub(super) enum Head {
    // hyper-util boxes this one: it is the wait for the network.
    Http1(legacy::ResponseFuture),
    Http2(Pin<Box<dyn Future<Output = Result<Response<Incoming>, UpstreamError>> + Send>>),
}

impl<B> Pool<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    pub(super) fn new(options: &UpstreamOptions, protocol: EndpointProtocol) -> Self {
        let dialer = Dialer::new(options, protocol);
        let secure = dialer.is_secure();
        let kind = if protocol.is_http2() {
            Kind::Http2(Multiplexed::new(dialer, options.connect_timeout))
        } else {
            let client = Client::builder(TokioExecutor::new())
                // Without a timer idle connections would be closed only when next asked for.
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(options.pool_idle_timeout)
                .pool_max_idle_per_host(options.pool_max_idle)
                .retry_canceled_requests(true)
                .set_host(false)
                .build(dialer);
            Kind::Http1(Box::new(client))
        };
        Self { secure, kind }
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self.kind, Kind::Http2(_))
    }

    pub(super) fn is_secure(&self) -> bool {
        self.secure
    }

    /// Sends a request that was made for this protocol.
    pub(super) fn send(&self, address: SocketAddr, request: Request<Forwarded<B>>) -> Head {
        match &self.kind {
            Kind::Http1(client) => Head::Http1(client.request(request)),
            Kind::Http2(connections) => Head::Http2(connections.send(address, request)),
        }
    }
}

impl Future for Head {
    type Output = Result<Response<Incoming>, UpstreamError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Http1(head) => Pin::new(head).poll(cx).map_err(UpstreamError::from),
            Self::Http2(head) => head.as_mut().poll(cx),
        }
    }
}

impl<B> fmt::Debug for Pool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let http2 = matches!(self.kind, Kind::Http2(_));
        f.debug_struct("Pool")
            .field("http2", &http2)
            .field("secure", &self.secure)
            .finish()
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Head")
    }
}
