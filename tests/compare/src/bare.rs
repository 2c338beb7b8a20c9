//! hyper alone as a proxy: what is left where nothing is verified, limited, counted or tried again.
//!
//! It does what HAProxy and nginx do with a plain cookie, over connections that it keeps, on one thread.
//! What the gateway costs above it is the gateway's own.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONNECTION, COOKIE, SET_COOKIE};
use http::{HeaderValue, Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use memchr::memmem;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

use crate::pods::{GROUPS, PER_GROUP};

/// Serves until the process is ended.
pub(crate) fn serve(address: SocketAddr, pods: Vec<SocketAddr>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, async move {
        let listener = TcpListener::bind(address).await.expect("a free address");
        let pool = Rc::new(Pool::new(pods));
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("a socket");
            let pool = Rc::clone(&pool);
            spawn_local(async move {
                let service = service_fn(|request| forward(Rc::clone(&pool), request));
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // clients leave as they like
                drop(served.await);
            });
        }
    })
}

/// Connections to endpoints that are kept, the last used one first.
struct Pool {
    endpoints: Vec<Endpoint>,
    turn: Cell<usize>,
}

struct Endpoint {
    address: SocketAddr,
    unused: RefCell<Vec<SendRequest<Incoming>>>,
}

impl Pool {
    fn new(pods: Vec<SocketAddr>) -> Self {
        let endpoints = pods.into_iter().map(|address| Endpoint {
            address,
            unused: RefCell::default(),
        });
        Self {
            endpoints: endpoints.collect(),
            turn: Cell::new(0),
        }
    }

    /// A connection to the endpoint.
    async fn connection(&self, endpoint: usize) -> SendRequest<Incoming> {
        let endpoint = &self.endpoints[endpoint];
        while let Some(mut unused) = pop(&endpoint.unused) {
            if unused.ready().await.is_ok() {
                return unused;
            }
        }
        let stream = TcpStream::connect(endpoint.address).await;
        let stream = stream.expect("the endpoint is there");
        stream.set_nodelay(true).expect("a socket");
        let (sender, driver) = handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
        // how it ended is seen by who has the sender
        spawn_local(async move { drop(driver.await) });
        sender
    }
}

fn pop(unused: &RefCell<Vec<SendRequest<Incoming>>>) -> Option<SendRequest<Incoming>> {
    unused.borrow_mut().pop()
}

async fn forward(
    pool: Rc<Pool>,
    mut request: Request<Incoming>,
) -> Result<Response<Returning>, hyper::Error> {
    let turn = pool.turn.replace(pool.turn.get() + 1);
    let known = request.headers().get(COOKIE).and_then(group);
    // nine of ten in a row, whatever the number of endpoints
    let group = known.unwrap_or(usize::from(turn % 10 == 9));
    let endpoint = group * PER_GROUP + turn / 10 % PER_GROUP;
    request.headers_mut().remove(CONNECTION);
    let mut sender = pool.connection(endpoint).await;
    let mut answer = sender.send_request(request).await?;
    if known.is_none() {
        let cookie = format!("pin={}; Path=/; HttpOnly", GROUPS[group]);
        let cookie = HeaderValue::try_from(cookie).expect("ASCII");
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(answer.map(|body| Returning {
        body,
        sender: Some(sender),
        pool,
        endpoint,
    }))
}

/// The group that a cookie names.
fn group(cookie: &HeaderValue) -> Option<usize> {
    let at = memmem::find(cookie.as_bytes(), b"pin=")?;
    let value = &cookie.as_bytes()[at + 4..];
    GROUPS
        .iter()
        .position(|group| value.starts_with(group.as_bytes()))
}

/// The body of an answer, whose connection is kept once it has ended.
struct Returning {
    body: Incoming,
    sender: Option<SendRequest<Incoming>>,
    pool: Rc<Pool>,
    endpoint: usize,
}

impl Body for Returning {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take()
            && self.body.is_end_stream()
        {
            self.pool.endpoints[self.endpoint]
                .unused
                .borrow_mut()
                .push(sender);
        }
    }
}
