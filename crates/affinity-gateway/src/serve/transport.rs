//! What a connection passes before its first HTTP byte: the PROXY header, then TLS.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use bytes::Bytes;
use ipnet::IpNet;
use rustls::{HandshakeKind, ServerConfig};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tokio_rustls::TlsAcceptor;

use super::{
    Scheme,
    prefixed::Prefixed,
    proxy::{self, HeaderError},
    stream::Stream,
};
use crate::{gather::Gathered, trust::TrustedProxies};

/// Plain TCP from anybody, until it is told otherwise.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Transport {
    proxies: Option<TrustedProxies>,
    tls: Option<Arc<ServerConfig>>,
}

impl Transport {
    /// Plain TCP, the peer is the client.
    pub fn new() -> Self {
        Self::default()
    }

    /// Off by default: peers in these networks have to begin with a PROXY header, version 1 or 2,
    /// and are closed otherwise. Nobody else may: from others its bytes are a bad request.
    pub fn proxy_protocol(mut self, proxies: impl IntoIterator<Item = IpNet>) -> Self {
        self.proxies = Some(proxies.into_iter().collect());
        self
    }

    /// Off by default: TLS for everybody.
    pub fn tls(mut self, config: Arc<ServerConfig>) -> Self {
        self.tls = Some(config);
        self
    }
}

/// The transport of a listener, which can be replaced while it runs. A clone is another handle.
///
/// Connections keep what they were opened with.
#[derive(Clone)]
pub struct Transports {
    present: Arc<ArcSwap<Transport>>,
    recorder: Arc<dyn TransportRecorder>,
}

/// What happened to a connection before its first HTTP byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportEvent {
    /// A TLS handshake with all of its steps.
    FullHandshake,
    /// A TLS handshake that a ticket made shorter.
    ResumedHandshake,
    /// A TLS handshake that failed or took too long; the connection was closed.
    FailedHandshake,
    /// A proxy sent no PROXY header, a wrong one or none in time; the connection was closed.
    RefusedProxyHeader,
}

/// Is told what happens to connections; it should not block. Any `Fn(TransportEvent)` is one.
pub trait TransportRecorder: Send + Sync + 'static {
    /// It happened.
    fn record(&self, event: TransportEvent);
}

impl<F: Fn(TransportEvent) + Send + Sync + 'static> TransportRecorder for F {
    fn record(&self, event: TransportEvent) {
        self(event);
    }
}

/// A connection that HTTP can begin on.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) stream: Stream,
    pub(super) client: SocketAddr,
    pub(super) scheme: Scheme,
}

impl Transports {
    /// A handle to `transport`; nobody is told of events.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self::recorded(transport, |_: TransportEvent| {})
    }

    /// A handle to `transport` with somebody who is told of events.
    #[must_use]
    pub fn recorded(transport: Transport, recorder: impl TransportRecorder) -> Self {
        Self {
            present: Arc::new(ArcSwap::from_pointee(transport)),
            recorder: Arc::new(recorder),
        }
    }

    /// What connections from now on pass.
    pub fn replace(&self, transport: Transport) {
        self.present.store(Arc::new(transport));
    }

    /// `None` if the connection was refused; it is closed then, and was logged and recorded.
    pub(super) async fn open(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        within: Duration,
    ) -> Option<Opened> {
        let transport = self.present.load_full();
        let deadline = Instant::now() + within;
        let mut client = peer;
        let mut first = Bytes::new();
        let proxies = transport.proxies.as_ref();
        if proxies.is_some_and(|proxies| proxies.contains(peer.ip())) {
            let named;
            (named, first) = self.header(&mut stream, peer, deadline).await?;
            client = named.unwrap_or(peer);
        }
        let stream = Prefixed::new(first, Gathered::new(stream));
        let Some(tls) = &transport.tls else {
            return Some(Opened {
                stream: Stream::Plain(stream),
                client,
                scheme: Scheme::Http,
            });
        };
        // boxed, so that a plain connection does not carry the room of a handshake
        let stream = Box::pin(self.handshake(tls, stream, client, deadline)).await?;
        Some(Opened {
            stream,
            client,
            scheme: Scheme::Https,
        })
    }

    async fn header(
        &self,
        stream: &mut TcpStream,
        peer: SocketAddr,
        deadline: Instant,
    ) -> Option<(Option<SocketAddr>, Bytes)> {
        let error = match timeout_at(deadline, proxy::read(stream)).await {
            Ok(Ok(header)) => return Some(header),
            Ok(Err(HeaderError::Silent)) => {
                tracing::debug!(%peer, "a proxy closed its connection without a byte");
                return None;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it did not come in time".to_owned(),
        };
        tracing::warn!(%peer, error, "closed a proxy's connection without a PROXY header");
        self.recorder.record(TransportEvent::RefusedProxyHeader);
        None
    }

    async fn handshake(
        &self,
        tls: &Arc<ServerConfig>,
        stream: Prefixed<Gathered>,
        client: SocketAddr,
        deadline: Instant,
    ) -> Option<Stream> {
        let handshake = TlsAcceptor::from(Arc::clone(tls)).accept(stream);
        let error = match timeout_at(deadline, handshake).await {
            Ok(Ok(stream)) => {
                let event = match stream.get_ref().1.handshake_kind() {
                    Some(HandshakeKind::Resumed) => TransportEvent::ResumedHandshake,
                    _ => TransportEvent::FullHandshake,
                };
                self.recorder.record(event);
                return Some(Stream::Tls(Box::new(stream)));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it took too long".to_owned(),
        };
        // Clients go away and send nonsense all the time: no event for the operator.
        tracing::debug!(%client, error, "a TLS handshake failed");
        self.recorder.record(TransportEvent::FailedHandshake);
        None
    }
}

impl Default for Transports {
    fn default() -> Self {
        Self::new(Transport::new())
    }
}

impl fmt::Debug for Transports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transports")
            .field("present", &self.present)
            .finish_non_exhaustive()
    }
}
