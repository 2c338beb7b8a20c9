//! Certificates, and clients that believe them.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ClientConfig, HandshakeKind, RootCertStore, SupportedProtocolVersion, crypto::aws_lc_rs,
};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{BOUND, Scratch};

/// A certificate for `localhost` that vouches for itself, and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate as PEM.
    pub certificate: String,
    /// The key as PEM.
    pub key: String,
    der: CertificateDer<'static>,
}

impl Pair {
    /// A new one, which ends with that year.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    #[must_use]
    pub fn until_the_end_of(year: i32) -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let mut params =
            CertificateParams::new(["localhost".to_owned()]).expect("localhost is a name");
        params.not_after = date_time_ymd(year + 1, 1, 1);
        let certificate = params.self_signed(&key).expect("a key signs");
        Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().clone(),
        }
    }

    /// Writes `cert.pem`, then `key.pem`.
    pub fn write(&self, dir: &Scratch) {
        dir.write("cert.pem", &self.certificate);
        dir.write("key.pem", &self.key);
    }
}

/// What a client has over TLS: its tickets, and whom it believes.
#[derive(Clone, Debug)]
pub struct TlsClient(Arc<ClientConfig>);

/// An open connection, and what HTTP it speaks.
#[derive(Debug)]
pub struct TlsConnection {
    /// How its handshake went.
    pub handshake: HandshakeKind,
    /// The certificate that was shown.
    pub shown: CertificateDer<'static>,
    sender: Sender,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl TlsClient {
    /// A client without tickets that believes `pairs` and offers these protocols.
    ///
    /// # Panics
    ///
    /// If rustls refuses them.
    #[must_use]
    pub fn new(pairs: &[&Pair], alpn: &[&str]) -> Self {
        Self::speaking(rustls::DEFAULT_VERSIONS, pairs, alpn)
    }

    /// As [`TlsClient::new`], with these versions of TLS only.
    ///
    /// # Panics
    ///
    /// If rustls refuses them.
    #[must_use]
    pub fn speaking(
        versions: &[&'static SupportedProtocolVersion],
        pairs: &[&Pair],
        alpn: &[&str],
    ) -> Self {
        let mut roots = RootCertStore::empty();
        for pair in pairs {
            roots.add(pair.der.clone()).expect("a certificate");
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("versions that the provider knows")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self(Arc::new(config))
    }

    /// Connects and shakes hands.
    ///
    /// # Errors
    ///
    /// If the handshake fails.
    ///
    /// # Panics
    ///
    /// If nobody listens, or nothing happens in time.
    pub async fn shake(&self, to: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(to).await.expect("the gateway is there");
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = TlsConnector::from(Arc::clone(&self.0));
        let shaken = timeout(BOUND, connector.connect(name, stream)).await;
        shaken.expect("a handshake ends in time")
    }

    /// Connects, and speaks what was chosen.
    ///
    /// # Panics
    ///
    /// If the handshake fails.
    pub async fn connect(&self, to: SocketAddr) -> TlsConnection {
        let stream = self.shake(to).await;
        let stream = stream.unwrap_or_else(|e| panic!("the handshake failed: {e}"));
        let (_, session) = stream.get_ref();
        let handshake = session.handshake_kind().expect("the handshake is done");
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let shown = shown.expect("a certificate was shown").clone().into_owned();
        let is_http_2 = session.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        let sender = if is_http_2 {
            let spoken = http2::handshake(TokioExecutor::new(), io).await;
            let (sender, connection) = spoken.expect("HTTP/2 is spoken");
            tokio::spawn(async move { drop(connection.await) });
            Sender::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await.expect("HTTP/1.1 is spoken");
            tokio::spawn(async move { drop(connection.await) });
            Sender::Http1(sender)
        };
        TlsConnection {
            handshake,
            shown,
            sender,
        }
    }
}

impl Pair {
    /// Whether the connection was shown this certificate.
    #[must_use]
    pub fn was_shown(&self, connection: &TlsConnection) -> bool {
        self.der == connection.shown
    }
}

impl TlsConnection {
    /// GETs a path with more fields; the answer with its whole body.
    ///
    /// # Panics
    ///
    /// If there is none in time.
    pub async fn get(&mut self, path: &str, fields: &[(&str, &str)]) -> Response<Bytes> {
        let mut request = Request::get(match &self.sender {
            Sender::Http1(_) => path.to_owned(),
            Sender::Http2(_) => format!("https://localhost{path}"),
        });
        if matches!(self.sender, Sender::Http1(_)) {
            request = request.header("host", "localhost");
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::default()).expect("a request");
        let exchange = async {
            let answer = match &mut self.sender {
                Sender::Http1(sender) => sender.send_request(request).await,
                Sender::Http2(sender) => sender.send_request(request).await,
            };
            let (head, body) = answer.expect("an answer").into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            Response::from_parts(head, body)
        };
        timeout(BOUND, exchange).await.expect("an answer in time")
    }
}
