//! TLS to endpoints.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use tower_affinity::respond::UpstreamFault;

use crate::{
    serve::Tunnels,
    upstream::{EndpointProtocol, EndpointTls, Upstream, UpstreamError, UpstreamOptions},
    wire::{endpoint, within},
};

/// Answers with the version that was agreed upon.
async fn secure(alpn: &[&str]) -> (SocketAddr, CertificateDer<'static>) {
    let names = ["endpoint.test".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let certificate = cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // what fails here is seen by the other side
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let service = service_fn(|request: Request<Incoming>| async move {
                    let told = format!("{:?} {}", request.version(), request.uri());
                    Ok::<_, Infallible>(Response::new(told))
                });
                let builder = auto::Builder::new(TokioExecutor::new());
                drop(
                    builder
                        .serve_connection(TokioIo::new(stream), service)
                        .await,
                );
            });
        }
    });
    (address, certificate)
}

async fn ask(
    address: SocketAddr,
    authority: &CertificateDer<'static>,
    name: Option<&'static str>,
    protocol: EndpointProtocol,
) -> Result<String, UpstreamError> {
    let name = name.map(|name| name.try_into().unwrap());
    let tls = EndpointTls::new([authority], name).unwrap();
    let options = UpstreamOptions::new().protocol(protocol).tls(Some(tls));
    let leaf = Upstream::<Body>::new(options, Tunnels::new()).endpoint(address);
    let request = Request::get("/x").header("host", "shop.example");
    let request = request.body(Body::empty()).unwrap();
    let answer = within("the leaf", leaf.oneshot(request)).await?;
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn an_endpoint_is_spoken_to_over_tls_in_either_version() {
    use EndpointProtocol::{H2, Http1};
    let (address, certificate) = secure(&["h2", "http/1.1"]).await;
    for name in [Some("endpoint.test"), None] {
        let http2 = ask(address, &certificate, name, H2).await;
        assert_eq!(
            http2.unwrap(),
            "HTTP/2.0 https://shop.example/x",
            "{name:?}"
        );
        let http1 = ask(address, &certificate, name, Http1).await;
        assert_eq!(http1.unwrap(), "HTTP/1.1 /x", "{name:?}");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_who_it_should_be_gets_nothing() {
    use EndpointProtocol::{H2, Http1};
    let (address, certificate) = secure(&["h2"]).await;
    let (http1_only, its_own) = secure(&["http/1.1"]).await;
    let (no_alpn, without) = secure(&[]).await;
    let plain = endpoint(|mut wire| async move {
        wire.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    for (what, address, authority, name, protocol) in [
        (
            "another name",
            address,
            &certificate,
            Some("other.test"),
            H2,
        ),
        ("another authority", address, &its_own, None, H2),
        ("another protocol", http1_only, &its_own, None, H2),
        ("no word of h2", no_alpn, &without, None, H2),
        ("no TLS", plain, &certificate, None, Http1),
    ] {
        let error = ask(address, authority, name, protocol).await;
        let error = error.expect_err(what);
        assert_eq!(error.fault(), UpstreamFault::Connect, "{what}");
        assert!(error.unsent(), "{what}");
    }
}
