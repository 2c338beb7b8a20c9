//! One session: a cookie jar, and connections that it shares with the others.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{COOKIE, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

use super::Shared;
use super::shot::{Outcome, Shot};
use crate::jar::{Jar, Keeps};

/// Longer than any timeout of a gateway in these runs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Shorter than a gateway keeps a connection that is not used.
const IDLE: Duration = Duration::from_secs(4);

/// What is asked.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    path: String,
    body: Bytes,
}

impl Ask {
    /// A GET.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            body: Bytes::new(),
        }
    }

    /// A POST of that many bytes.
    #[must_use]
    pub fn post(path: &str, length: usize) -> Self {
        Self {
            method: Method::POST,
            path: path.to_owned(),
            body: (0..length).map(|at| at as u8).collect(),
        }
    }
}

/// What a session shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shows {
    /// The cookies that it was given.
    Cookies,
    /// Nothing but an id of its own, in that field.
    Id(&'static str),
    /// Nothing but an id that nobody has seen, with each request another one.
    FreshId(&'static str),
}

/// The kept connections, by protocol.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    http1: Client<HttpConnector, Full<Bytes>>,
    http2: Client<HttpConnector, Full<Bytes>>,
}

impl Kept {
    pub(super) fn new() -> Self {
        let client = |http2| {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            Client::builder(TokioExecutor::new())
                .retry_canceled_requests(false)
                // left before the gateway leaves it: the two would cross
                .pool_idle_timeout(IDLE)
                .pool_timer(TokioTimer::new())
                .http2_only(http2)
                .build(connector)
        };
        Self {
            http1: client(false),
            http2: client(true),
        }
    }
}

/// One session.
#[derive(Debug)]
pub(super) struct Browser {
    number: usize,
    to: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
    shows: Shows,
    jar: Mutex<Jar>,
    shared: Arc<Shared>,
}

impl Browser {
    pub(super) fn new(
        number: usize,
        to: SocketAddr,
        shows: Shows,
        kept: &Kept,
        shared: &Arc<Shared>,
    ) -> Self {
        let client = if number.is_multiple_of(2) {
            &kept.http1
        } else {
            &kept.http2
        };
        Self {
            number,
            to,
            client: client.clone(),
            shows,
            jar: Mutex::new(Jar::new(Keeps::LastArrival)),
            shared: Arc::clone(shared),
        }
    }

    /// Asks, reads the answer to its end, takes its cookies, and writes all down.
    pub(super) async fn ask(&self, ask: &Ask) {
        let id = self.shared.request();
        let mut request = Request::new(Full::new(ask.body.clone()));
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = format!("http://{}{}", self.to, ask.path)
            .parse()
            .expect("a path");
        request.headers_mut().insert("x-request-id", id.into());
        if let Some((name, value)) = self.shown(id) {
            request.headers_mut().insert(name, value);
        }
        let sent = Instant::now();
        let outcome = timeout(PATIENCE, self.exchange(id, request, &ask.body)).await;
        self.shared.enter(Shot {
            id,
            session: self.number,
            method: ask.method.clone(),
            path: ask.path.clone(),
            sent,
            took: sent.elapsed(),
            outcome: outcome.unwrap_or(Outcome::Silence),
        });
    }

    /// The field that the gateway knows the session by.
    fn shown(&self, id: u64) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match self.shows {
            Shows::Cookies => (COOKIE, self.jar.lock().unwrap().header()?),
            Shows::Id(name) => (
                HeaderName::from_static(name),
                format!("user-{}", self.number),
            ),
            Shows::FreshId(name) => (HeaderName::from_static(name), format!("newcomer-{id}")),
        };
        Some((name, value.parse().expect("a field is text")))
    }

    async fn exchange(&self, id: u64, request: Request<Full<Bytes>>, body: &[u8]) -> Outcome {
        let response = match self.client.request(request).await {
            Ok(response) => response,
            Err(error) if error.is_connect() => return Outcome::Unreached,
            Err(error) => return Outcome::Broken(format!("{error:?}")),
        };
        let (head, answer) = response.into_parts();
        for line in head.headers.get_all(SET_COOKIE) {
            let line = line.to_str().expect("a cookie is text");
            self.jar.lock().unwrap().take(line);
        }
        let Ok(answer) = answer.collect().await else {
            return Outcome::Truncated(head.status);
        };
        let answer = answer.to_bytes();
        let said = |name: &str| said(&head.headers, name);
        let whole = said("x-group").is_none()
            || said("x-request-id") == Some(id.to_string())
                && said("x-request-sha256") == Some(hash(body))
                && said("x-body-sha256") == Some(hash(&answer));
        Outcome::Answered {
            status: head.status,
            group: said("x-group"),
            pod: said("x-pod"),
            whole,
            retry_after: said(RETRY_AFTER.as_str()).and_then(|after| after.parse().ok()),
            set_cookie: head.headers.contains_key(SET_COOKIE),
        }
    }
}

fn said(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str();
    Some(value.expect("a field is text").to_owned())
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
