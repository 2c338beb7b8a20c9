//! A client with a cookie jar and kept-alive connections, which writes its ledger.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{COOKIE, HOST, SET_COOKIE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::BOUND;
use crate::endpoint::REQUEST_ID;
use crate::history::{Entry, History};
use crate::jar::{Jar, Keeps};

/// An answer, read to its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The request's id.
    pub request: u64,
    /// The status.
    pub status: StatusCode,
    /// The fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The group that answered; `None` if the gateway did.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.headers
            .get("x-group")
            .map(|group| group.to_str().expect("a group's name"))
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        let read = serde_json::from_slice(&self.body);
        read.unwrap_or_else(|e| panic!("{e}: {:?} {:?}", self.status, self.body))
    }

    /// The lines that set cookies.
    #[must_use]
    pub fn cookies(&self) -> Vec<String> {
        let lines = self.headers.get_all(SET_COOKIE).into_iter();
        lines
            .map(|line| line.to_str().expect("a cookie is text").to_owned())
            .collect()
    }
}

/// One client. A clone is another tab: it has a copy of the jar and its own connections.
#[derive(Debug)]
pub struct Client {
    number: u64,
    history: History,
    /// The cookies.
    pub jar: Jar,
    connections: BTreeMap<SocketAddr, SendRequest<Full<Bytes>>>,
}

impl Client {
    /// A new client, with a number of its own.
    #[must_use]
    pub fn new(number: u64, history: &History) -> Self {
        Self::keeping(Keeps::LastArrival, number, history)
    }

    /// A new client whose jar keeps cookies in that way.
    #[must_use]
    pub fn keeping(keeps: Keeps, number: u64, history: &History) -> Self {
        let connections = BTreeMap::new();
        Self {
            number,
            history: history.clone(),
            jar: Jar::new(keeps),
            connections,
        }
    }

    /// A second tab of the same client.
    #[must_use]
    pub fn tab(&self) -> Self {
        let (history, jar) = (self.history.clone(), self.jar.clone());
        Self {
            number: self.number,
            history,
            jar,
            connections: BTreeMap::new(),
        }
    }

    /// GETs a path and takes the cookies of the answer.
    ///
    /// # Panics
    ///
    /// If there is no whole answer in time.
    pub async fn get(&mut self, to: SocketAddr, path: &str) -> Answer {
        let request = Request::get(path).body(Full::default()).expect("a path");
        self.send(to, request).await
    }

    /// Sends a request and takes the cookies of the answer.
    ///
    /// # Panics
    ///
    /// If there is no whole answer in time.
    pub async fn send(&mut self, to: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
        let answer = self
            .exchange(to, request)
            .await
            .unwrap_or_else(|e| panic!("no answer: {e}"));
        for line in answer.cookies() {
            self.jar.take(&line);
        }
        answer
    }

    /// Sends a request, and leaves the cookies of the answer to the caller.
    ///
    /// # Errors
    ///
    /// If the connection failed before the answer was whole; that is no entry of the ledger.
    ///
    /// # Panics
    ///
    /// If nothing happens in time.
    pub async fn exchange(
        &mut self,
        to: SocketAddr,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Answer, hyper::Error> {
        let id = self.history.request();
        let headers = request.headers_mut();
        headers.insert(HOST, to.to_string().parse().expect("an address"));
        headers.insert(REQUEST_ID, id.into());
        if let Some(cookies) = self.jar.header() {
            headers.insert(COOKIE, cookies.parse().expect("cookies are text"));
        }
        let path = request.uri().path().to_owned();
        let connection = connection(&mut self.connections, to).await;
        let sent = self.history.moment();
        let exchange = async { whole(connection.send_request(request).await?).await };
        let answer = timeout(BOUND, exchange).await;
        let (head, body) = answer.unwrap_or_else(|_| panic!("{path} was not answered in time"))?;
        let answer = Answer {
            request: id,
            status: head.status,
            headers: head.headers,
            body,
        };
        self.history.enter(Entry {
            client: self.number,
            request: id,
            via: to,
            sent,
            answered: self.history.moment(),
            status: answer.status,
            group: answer.group().map(str::to_owned),
            set_cookie: answer.headers.contains_key(SET_COOKIE),
        });
        Ok(answer)
    }
}

async fn whole(
    response: Response<hyper::body::Incoming>,
) -> Result<(http::response::Parts, Bytes), hyper::Error> {
    let (head, body) = response.into_parts();
    Ok((head, body.collect().await?.to_bytes()))
}

/// The kept connection if it still takes a request, else a new one.
async fn connection(
    kept: &mut BTreeMap<SocketAddr, SendRequest<Full<Bytes>>>,
    to: SocketAddr,
) -> &mut SendRequest<Full<Bytes>> {
    let alive = match kept.get_mut(&to) {
        Some(connection) => connection.ready().await.is_ok(),
        None => false,
    };
    if !alive {
        kept.insert(to, connect(to).await);
    }
    kept.get_mut(&to).expect("it was put there")
}

pub(crate) async fn connect(to: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(to)
        .await
        .unwrap_or_else(|e| panic!("{to} is not there: {e}"));
    stream
        .set_nodelay(true)
        .expect("a socket takes its options");
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .expect("HTTP/1.1 is spoken");
    // what ends a connection early is told to the request on it
    tokio::spawn(async move { drop(connection.await) });
    sender
}
