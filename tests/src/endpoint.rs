//! An endpoint of a group: a real HTTP/1.1 server that tells what reached it.
//!
//! The path says how it behaves:
//!
//! | path | behaviour |
//! | --- | --- |
//! | `/status/N` | answers with that status |
//! | `/hold` | answers once the fleet is released |
//! | `/echo` | sends the body back as it comes, trailers included |
//! | `/events` | an event stream: one event at once, one at the release, then the end |
//! | `/early` | the head and a first piece at once, the rest at the release |
//! | `/cut` | closes the connection without an answer |
//! | `/livez` | 200, without an entry in the ledger: the gateway asks for itself |
//! | `/ws` | a WebSocket that sends its group first, then echoes |
//! | anything else | 200 |
//!
//! Every field `x-answer: NAME: VALUE` of a request becomes a field of its answer.

mod answer;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::fleet::Ledger;

/// The field that names a request in both ledgers.
pub const REQUEST_ID: &str = "x-request-id";
/// The field that asks for a field of the answer.
pub const ANSWER: &str = "x-answer";

pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// One request that reached an endpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Execution {
    /// The endpoint's group.
    pub group: Arc<str>,
    /// The endpoint, as `GROUP-NUMBER`.
    pub endpoint: Arc<str>,
    /// The request's id; 0 if it had none.
    pub request: u64,
    /// Its method.
    pub method: Method,
    /// Its target as it came.
    pub target: String,
    /// Its fields as they came.
    pub headers: HeaderMap,
}

impl Execution {
    /// A field's only value as bytes; `None` if there is none.
    ///
    /// # Panics
    ///
    /// If there is more than one.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let mut values = self.headers.get_all(name).into_iter();
        let value = values.next();
        assert_eq!(
            values.next(),
            None,
            "{name} came more than once: {:?}",
            self.headers
        );
        value.map(HeaderValue::as_bytes)
    }

    /// What the gateway decided: the decision and its cause.
    ///
    /// # Panics
    ///
    /// If the gateway did not say it.
    #[must_use]
    pub fn decision(&self) -> &str {
        let value = self.headers.get("affinity-decision");
        let value = value.unwrap_or_else(|| panic!("no decision was told: {:?}", self.headers));
        value.to_str().expect("a decision is text")
    }
}

/// A running endpoint. Dropping it ends it and cuts its connections.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    task: AbortHandle,
}

/// What all requests to one endpoint share.
#[derive(Clone, Debug)]
pub(crate) struct Here {
    pub(crate) group: Arc<str>,
    pub(crate) endpoint: Arc<str>,
    pub(crate) ledger: Ledger,
    pub(crate) released: watch::Receiver<bool>,
}

impl Endpoint {
    pub(crate) async fn start(address: SocketAddr, here: Here) -> Self {
        let listener = TcpListener::bind(address)
            .await
            .expect("an endpoint can listen");
        let address = listener.local_addr().expect("a listener has an address");
        let task = tokio::spawn(accept(listener, here)).abort_handle();
        Self { address, task }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, here: Here) {
    // connections end with the endpoint
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("an endpoint can accept");
        let here = here.clone();
        connections.spawn(async move {
            stream
                .set_nodelay(true)
                .expect("a socket takes its options");
            let service = service_fn(move |request| serve(here.clone(), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            // a connection that was cut is seen by the client's side of the story
            drop(connection.await);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(here: Here, request: Request<Incoming>) -> Result<Response<Body>, std::io::Error> {
    let id = request
        .headers()
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok()?.parse().ok());
    // what the gateway asks for itself is nobody's request
    if request.uri().path() != "/livez" {
        here.ledger.enter(Execution {
            group: Arc::clone(&here.group),
            endpoint: Arc::clone(&here.endpoint),
            request: id.unwrap_or_default(),
            method: request.method().clone(),
            target: request.uri().to_string(),
            headers: request.headers().clone(),
        });
    }
    let asked: Vec<_> = request.headers().get_all(ANSWER).iter().cloned().collect();
    let mut response = answer::answer(&here, request, id.unwrap_or_default()).await?;
    for field in asked {
        let (name, value) = field
            .to_str()
            .unwrap()
            .split_once(": ")
            .expect("NAME: VALUE");
        let name: http::HeaderName = name.parse().expect("a field's name");
        response
            .headers_mut()
            .append(name, value.parse().expect("a field's value"));
    }
    Ok(response)
}
