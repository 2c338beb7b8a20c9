//! For tests: both ends of a connection byte by byte, and the data plane between them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{convert::Infallible, future::Future, net::SocketAddr, sync::Arc, time::Duration};

use axum::body::Body;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use tower::{Layer, Service, ServiceExt};

use tower_affinity::respond::UpstreamFault;

use crate::{
    edge::EdgeLayer,
    serve::{Drained, ServeOptions, Tunnels, serve},
    upstream::{Upstream, UpstreamError, UpstreamOptions},
};

/// How long any one wait may take; only a failing test takes it.
const BOUND: Duration = Duration::from_secs(10);

/// One end of a connection.
pub(crate) struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.expect("connect"))
    }

    pub(crate) fn over(stream: TcpStream) -> Self {
        Self {
            stream,
            unread: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.expect("write");
    }

    /// Whether the other side took it.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }

    /// Everything up to and with `mark`.
    pub(crate) async fn until(&mut self, mark: &str) -> String {
        String::from_utf8_lossy(&self.bytes_until(mark.as_bytes()).await).into_owned()
    }

    pub(crate) async fn bytes_until(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self
                .unread
                .windows(mark.len())
                .position(|part| part == mark)
            {
                let rest = self.unread.split_off(at + mark.len());
                return std::mem::replace(&mut self.unread, rest);
            }
            assert!(
                self.more().await,
                "closed before {:?}, after {:?}",
                String::from_utf8_lossy(mark),
                String::from_utf8_lossy(&self.unread),
            );
        }
    }

    /// The head of a message.
    pub(crate) async fn head(&mut self) -> String {
        self.until("\r\n\r\n").await
    }

    /// The head of a message; `None` once the other side has closed.
    pub(crate) async fn try_head(&mut self) -> Option<String> {
        while !self.unread.windows(4).any(|part| part == b"\r\n\r\n") {
            if !self.more().await {
                return None;
            }
        }
        Some(self.head().await)
    }

    /// What comes until the other side closes.
    pub(crate) async fn rest(&mut self) -> String {
        while self.more().await {}
        String::from_utf8_lossy(&std::mem::take(&mut self.unread)).into_owned()
    }

    /// The next bytes that end with a full stop; `None` at the end.
    pub(crate) async fn word(&mut self) -> Option<String> {
        while !self.unread.contains(&b'.') {
            if !self.more().await {
                return None;
            }
        }
        Some(self.until(".").await)
    }

    /// Sends no more, but still reads.
    pub(crate) async fn finish(&mut self) {
        self.stream.shutdown().await.expect("shutdown");
    }

    /// Whether something comes without anything more being sent.
    pub(crate) async fn has_answer(&mut self) -> bool {
        let a_moment = Duration::from_millis(20);
        tokio::time::timeout(a_moment, self.more()).await.is_ok()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.stream.local_addr().expect("address")
    }

    async fn more(&mut self) -> bool {
        let mut part = [0; 4096];
        let read = within("a read", self.stream.read(&mut part)).await;
        // A reset is an end, too: the other side closed with bytes of ours unread.
        let count = read.unwrap_or(0);
        self.unread.extend_from_slice(&part[..count]);
        count > 0
    }
}

/// Fails, and says for what it waited, if `wait` takes too long.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, wait)
        .await
        .unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    within(what, async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// An endpoint that runs `script` on each of its connections.
pub(crate) async fn endpoint<F, Fut>(script: F) -> SocketAddr
where
    F: Fn(Wire) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(script(Wire::over(stream)));
        }
    });
    address
}

/// A running listener.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) tunnels: Tunnels,
    /// What each request through [`Running::proxy`] holds on to, as a lease would be held.
    pub(crate) lease: Arc<()>,
    shutdown: CancellationToken,
    ended: JoinHandle<Drained>,
}

impl Running {
    pub(crate) async fn start<S>(service: S, options: ServeOptions, tunnels: Tunnels) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("address");
        let shutdown = CancellationToken::new();
        let ended = tokio::spawn(serve(
            listener,
            service,
            options,
            tunnels.clone(),
            shutdown.clone(),
        ));
        Self {
            address,
            tunnels,
            lease: Arc::default(),
            shutdown,
            ended,
        }
    }

    /// Edge and leaf, with nothing between: every request goes to `endpoint`.
    pub(crate) async fn proxy(endpoint: SocketAddr) -> Self {
        Self::proxy_with(endpoint, UpstreamOptions::new(), ServeOptions::new()).await
    }

    pub(crate) async fn proxy_with(
        endpoint: SocketAddr,
        upstream: UpstreamOptions,
        options: ServeOptions,
    ) -> Self {
        let tunnels = Tunnels::new();
        let leaf = Upstream::new(upstream, tunnels.clone()).endpoint(endpoint);
        let lease = Arc::new(());
        // One count, however often the service is cloned.
        let held = Arc::new(Arc::clone(&lease));
        let answered = tower::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Arc::clone(&*held));
            let answer = leaf.clone().oneshot(request);
            async {
                let answer = answer.await.map(|answer| answer.map(Body::new));
                Ok(answer.unwrap_or_else(|error: UpstreamError| failed(error.fault())))
            }
        });
        let edge = EdgeLayer::new().layer(answered);
        let edge = edge.map_response(|answer| answer.map(Body::new));
        let running = Self::start(edge, options, tunnels).await;
        Self { lease, ..running }
    }

    /// How many requests and tunnels hold the lease.
    pub(crate) fn held(&self) -> usize {
        // One is kept here, one by the service that hands it out.
        Arc::strong_count(&self.lease).saturating_sub(2)
    }

    pub(crate) fn stop(&self) {
        self.shutdown.cancel();
    }

    pub(crate) async fn ended(self) -> Drained {
        within("the end of the listener", self.ended)
            .await
            .expect("no panic")
    }
}

fn failed(fault: UpstreamFault) -> Response<Body> {
    let mut answer = Response::new(Body::from(format!("{fault:?}")));
    *answer.status_mut() = StatusCode::BAD_GATEWAY;
    answer
}
