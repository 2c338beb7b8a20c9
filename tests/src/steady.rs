//! A steady load that counts every request: on kept-alive, on fresh and on multiplexed
//! connections, half of it POST.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, COOKIE, HOST, SET_COOKIE};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::BOUND;
use crate::endpoint::REQUEST_ID;
use crate::history::{Entry, History};
use crate::jar::{Jar, Keeps};

type Sent = Request<Full<Bytes>>;

/// How many clients of each kind there are, and how often each of them sends.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Clients that keep an HTTP/1.1 connection alive until they are told that it ends.
    pub kept: u64,
    /// Clients that open a connection for every request.
    pub fresh: u64,
    /// Clients on HTTP/2.
    pub multiplexed: u64,
    /// From one request of a client to its next.
    pub every: Duration,
}

/// A running load.
#[derive(Debug)]
pub struct Steady {
    failures: Failures,
    stop: watch::Sender<bool>,
    clients: JoinSet<()>,
}

type Failures = Arc<Mutex<Vec<String>>>;

impl Steady {
    /// Begins. A new connection goes where `route` says by then.
    #[must_use]
    pub fn start(history: &History, route: &watch::Receiver<SocketAddr>, mix: Mix) -> Self {
        let (stop, failures) = (watch::Sender::new(false), Failures::default());
        let mut clients = JoinSet::new();
        let kinds = [
            (Kind::Kept, mix.kept),
            (Kind::Fresh, mix.fresh),
            (Kind::Multiplexed, mix.multiplexed),
        ];
        let mut number = 0;
        for (kind, count) in kinds {
            for _ in 0..count {
                let client = SteadyClient {
                    number,
                    kind,
                    history: history.clone(),
                    route: route.clone(),
                    jar: Jar::new(Keeps::LastArrival),
                    connection: None,
                };
                clients.spawn(client.run(mix.every, stop.subscribe(), Arc::clone(&failures)));
                number += 1;
            }
        }
        Self {
            failures,
            stop,
            clients,
        }
    }

    /// How each request that failed so far did.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap().clone()
    }

    /// Ends after what is in flight; answers how requests failed.
    pub async fn end(mut self) -> Vec<String> {
        self.stop.send_replace(true);
        while let Some(ended) = self.clients.join_next().await {
            ended.expect("a client does not panic");
        }
        self.failures()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Kept,
    Fresh,
    Multiplexed,
}

enum Connection {
    One(http1::SendRequest<Full<Bytes>>),
    Many(http2::SendRequest<Full<Bytes>>),
}

struct SteadyClient {
    number: u64,
    kind: Kind,
    history: History,
    route: watch::Receiver<SocketAddr>,
    jar: Jar,
    connection: Option<(SocketAddr, Connection)>,
}

impl SteadyClient {
    async fn run(mut self, every: Duration, mut stop: watch::Receiver<bool>, failures: Failures) {
        // so that not all send in the same moment
        let mut next = Instant::now() + every * (self.number % 16) as u32 / 16;
        for nth in 0_u64.. {
            tokio::select! {
                () = sleep_until(next) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            next = (next + every).max(Instant::now());
            let method = if nth % 2 == 0 {
                Method::GET
            } else {
                Method::POST
            };
            let (id, sent) = (self.history.request(), self.history.moment());
            let exchange = self.exchange(id, sent, &method);
            let failed = match timeout(BOUND, exchange).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error,
                Err(_) => "no answer in time".to_owned(),
            };
            let told = format!(
                "request {id}, {method} of a {:?} client: {failed}",
                self.kind
            );
            failures.lock().unwrap().push(told);
            self.connection = None;
        }
    }

    async fn exchange(&mut self, id: u64, sent: u64, method: &Method) -> Result<(), String> {
        let mut request = self.request(id, method);
        // what a closed connection gives back was never written: it goes out on the next one
        for _ in 0..8 {
            let (to, connection) = self.connection().await?;
            let again = request.clone();
            let answer = match connection.send(request).await {
                Ok(answer) => answer,
                Err((_, Some(unsent))) => {
                    self.connection = None;
                    request = unsent;
                    continue;
                }
                // nor was one processed that a connection in good order said goodbye to (RFC 9113,
                // section 6.8); if it was, the ledgers tell
                Err((error, None)) if is_goodbye(&error) => {
                    self.connection = None;
                    request = again;
                    continue;
                }
                Err((error, None)) => return Err(format!("sent, and {}", causes(&error))),
            };
            let (head, body) = answer.into_parts();
            let body = body.collect().await;
            body.map_err(|error| format!("the answer broke off: {}", causes(&error)))?;
            for line in head.headers.get_all(SET_COOKIE) {
                self.jar.take(line.to_str().expect("a cookie is text"));
            }
            let group = head.headers.get("x-group");
            self.history.enter(Entry {
                client: self.number,
                request: id,
                via: to,
                sent,
                answered: self.history.moment(),
                status: head.status,
                group: group.map(|group| group.to_str().expect("a group's name").to_owned()),
                set_cookie: head.headers.contains_key(SET_COOKIE),
            });
            return match head.status.is_success() {
                true => Ok(()),
                false => Err(format!("answered {}", head.status)),
            };
        }
        Err("eight connections closed before the request was written".to_owned())
    }

    fn request(&self, id: u64, method: &Method) -> Sent {
        let body = match *method {
            Method::POST => Bytes::from(format!("{{\"step\":{id}}}")),
            _ => Bytes::new(),
        };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        let headers = request.headers_mut();
        headers.insert(REQUEST_ID, id.into());
        if let Some(cookies) = self.jar.header() {
            headers.insert(COOKIE, cookies.parse().expect("cookies are text"));
        }
        if self.kind == Kind::Fresh {
            headers.insert(CONNECTION, "close".parse().expect("a value"));
        }
        if self.kind == Kind::Multiplexed {
            *request.uri_mut() = "http://gateway/".parse().expect("an address");
        } else {
            headers.insert(HOST, "gateway".parse().expect("a value"));
        }
        request
    }

    /// The kept connection if it still takes a request, else a new one.
    async fn connection(&mut self) -> Result<(SocketAddr, &mut Connection), String> {
        let alive = match &mut self.connection {
            Some((_, connection)) => self.kind != Kind::Fresh && connection.is_ready().await,
            None => false,
        };
        if !alive {
            self.connection = None;
            let to = *self.route.borrow();
            let connection = Connection::open(to, self.kind).await;
            let connection = connection.map_err(|error| format!("no connection: {error}"))?;
            self.connection = Some((to, connection));
        }
        let (to, connection) = self.connection.as_mut().expect("it was put there");
        Ok((*to, connection))
    }
}

impl Connection {
    async fn open(to: SocketAddr, kind: Kind) -> Result<Self, Box<dyn std::error::Error>> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        let io = TokioIo::new(stream);
        if kind == Kind::Multiplexed {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            let (sender, connection) = builder.timer(TokioTimer::new()).handshake(io).await?;
            // what ends a connection early is told to the request on it
            tokio::spawn(async move { drop(connection.await) });
            return Ok(Self::Many(sender));
        }
        let (sender, connection) = http1::handshake(io).await?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self::One(sender))
    }

    async fn is_ready(&mut self) -> bool {
        match self {
            Self::One(sender) => sender.ready().await.is_ok(),
            Self::Many(sender) => sender.ready().await.is_ok(),
        }
    }

    async fn send(
        &mut self,
        request: Sent,
    ) -> Result<Response<Incoming>, (hyper::Error, Option<Sent>)> {
        let sent = match self {
            Self::One(sender) => sender.try_send_request(request).await,
            Self::Many(sender) => sender.try_send_request(request).await,
        };
        sent.map_err(|mut error| {
            let unsent = error.take_message();
            (error.into_error(), unsent)
        })
    }
}

fn is_goodbye(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    cause.is_some_and(|cause: &h2::Error| {
        cause.is_go_away() && cause.is_remote() && cause.reason() == Some(h2::Reason::NO_ERROR)
    })
}

fn causes(error: &dyn std::error::Error) -> impl Display + use<> {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
