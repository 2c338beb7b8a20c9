//! What is tested: our listener, and plain axum beside it.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use affinity_tests::Scratch;
use affinity_tests::config::Config;
use affinity_tests::http2::Connection;
use affinity_tests::replica::Replica;
use affinity_tests::tls::{Pair, TlsClient};
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use http::StatusCode;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::requests::{BODY, STUCK};

/// Far above what a case sends.
const LARGEST: usize = 1 << 20;

/// The paths of the requests that were answered, all of their bodies read.
type Served = Arc<Mutex<Vec<String>>>;

/// axum's own server, without anything of ours. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Plain {
    address: SocketAddr,
    served: Served,
    task: AbortHandle,
}

impl Plain {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a server can listen");
        let address = listener.local_addr().expect("a listener has an address");
        let served = Served::default();
        let router = Router::new()
            .fallback(serve)
            .with_state(Arc::clone(&served));
        let task = tokio::spawn(async move { axum::serve(listener, router).await });
        let task = task.abort_handle();
        Self {
            address,
            served,
            task,
        }
    }

    pub(super) async fn open(&self) -> Connection {
        Connection::open(self.address).await
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(State(served): State<Served>, request: Request) -> (StatusCode, &'static str) {
    let (head, body) = request.into_parts();
    if head.uri.path() == STUCK {
        pending::<()>().await;
    }
    // a body that breaks off is no request
    if to_bytes(body, LARGEST).await.is_err() {
        return (StatusCode::BAD_REQUEST, "");
    }
    served.lock().unwrap().push(head.uri.path().to_owned());
    (StatusCode::OK, BODY)
}

/// A gateway with one group of one endpoint, which is plain axum again.
#[derive(Debug)]
pub(super) struct Gateway {
    replica: Replica,
    endpoint: Plain,
    tls: Option<TlsClient>,
    // its files
    _dir: Scratch,
}

impl Gateway {
    pub(super) async fn start() -> Self {
        Self::with(Scratch::new(), "", None).await
    }

    /// One that ends TLS, and is asked for HTTP/2 by ALPN.
    pub(super) async fn start_tls() -> Self {
        let (dir, pair) = (Scratch::new(), Pair::until_the_end_of(2099));
        pair.write(&dir);
        let client = TlsClient::new(&[&pair], &["h2"]);
        let listen = "tls = { cert = \"cert.pem\", key = \"key.pem\" }";
        Self::with(dir, listen, Some(client)).await
    }

    async fn with(dir: Scratch, listen: &str, tls: Option<TlsClient>) -> Self {
        let endpoint = Plain::start().await;
        let mut config = Config::of([("9f1c2ab", 1, vec![endpoint.address])]);
        listen.clone_into(&mut config.listen);
        let replica = Replica::start(&dir, &config).await;
        Self {
            replica,
            endpoint,
            tls,
            _dir: dir,
        }
    }

    pub(super) async fn open(&self) -> Connection {
        let address = self.replica.address();
        let Some(client) = &self.tls else {
            return Connection::open(address).await;
        };
        let stream = client.shake(address).await;
        let stream = stream.expect("the gateway shakes hands");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        Connection::over(stream)
    }

    /// What has reached the endpoint so far.
    pub(super) fn served(&self) -> Vec<String> {
        self.endpoint.served.lock().unwrap().clone()
    }
}
