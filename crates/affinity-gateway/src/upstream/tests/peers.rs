//! Endpoints and clients that speak HTTP/2.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::body::Body;
use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::http2::{self, SendRequest},
    server,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

use crate::{
    serve::ServeOptions,
    upstream::{EndpointProtocol, UpstreamOptions},
    wire::{Running, within},
};

/// An endpoint over HTTP/2 and how many connections it was given.
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    pub(super) connections: Arc<AtomicUsize>,
}

impl Endpoint {
    pub(super) async fn start<F, Fut>(
        builder: server::conn::http2::Builder<TokioExecutor>,
        answer: F,
    ) -> Self
    where
        F: Fn(Request<Incoming>) -> Fut + Clone + Send + 'static,
        Fut: Future<Output = Response<Body>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (answer, builder) = (answer.clone(), builder.clone());
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        let answered = answer(request);
                        async { Ok::<_, Infallible>(answered.await) }
                    });
                    // a connection that was cut is seen by the other side
                    drop(
                        builder
                            .serve_connection(TokioIo::new(stream), service)
                            .await,
                    );
                });
            }
        });
        Self {
            address,
            connections,
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

pub(super) fn builder() -> server::conn::http2::Builder<TokioExecutor> {
    server::conn::http2::Builder::new(TokioExecutor::new())
}

/// A gateway in front of an endpoint without TLS.
pub(super) async fn h2c(endpoint: SocketAddr) -> Running {
    let options = UpstreamOptions::new().protocol(EndpointProtocol::H2c);
    Running::proxy_with(endpoint, options, ServeOptions::new()).await
}

/// A client's connection; `is_extended` waits until the gateway takes extended CONNECT.
pub(super) async fn client(gateway: &Running) -> SendRequest<Body> {
    let stream = TcpStream::connect(gateway.address).await.unwrap();
    let (sender, mut driver) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    let (told, hear) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        // settings wake nobody, so they are looked at again and again
        while !driver.is_extended_connect_protocol_enabled() {
            let a_moment = std::time::Duration::from_millis(2);
            let ended = tokio::time::timeout(a_moment, &mut driver).await;
            assert!(ended.is_err(), "ended before its settings came: {ended:?}");
        }
        // a test that ended needs no word
        told.send(()).ok();
        // a connection that was cut is seen by its requests
        drop(driver.await);
    });
    within("the gateway to enable extended CONNECT", hear)
        .await
        .unwrap();
    sender
}

pub(super) fn get(path: &str) -> Request<Body> {
    let uri = format!("http://shop.example{path}");
    Request::get(uri).body(Body::empty()).unwrap()
}
