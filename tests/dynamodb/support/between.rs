//! [`Between`]: what stands between a store and its server, counts what comes by, and misbehaves.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::talk::{Answer, talk};

/// How it behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It hands everything on.
    Well,
    /// It refuses everything by that exception.
    Refuses(&'static str),
    /// It answers everything with that status and a page of its own.
    Breaks(u16),
    /// It hands everything on, but so much later.
    Slow(Duration),
    /// It answers everything with that.
    Says(&'static str),
    /// It answers everything without end.
    Endless,
    /// No condition holds, and nothing stands.
    Denies,
    /// What stands is told as it was first written.
    Stale,
}

/// The way to a server.
#[derive(Debug)]
pub(crate) struct Between {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    mood: Mutex<Mood>,
    asked: Mutex<BTreeMap<String, u64>>,
    /// The items as they were first written, by their keys.
    first: Mutex<HashMap<String, Value>>,
    /// How much of an endless answer was taken.
    taken: Mutex<u64>,
}

impl Between {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            mood: Mutex::new(Mood::Well),
            asked: Mutex::default(),
            first: Mutex::default(),
            taken: Mutex::default(),
        });
        let task = tokio::spawn(listen(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn is(&self, mood: Mood) {
        *self.shared.mood.lock().unwrap() = mood;
    }

    /// How often each action was asked for since the last look.
    pub(crate) fn asked(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap())
    }

    /// How many bytes of endless answers were taken so far.
    pub(crate) fn taken(&self) -> u64 {
        *self.shared.taken.lock().unwrap()
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&shared), request));
            let serve = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // a client that leaves is no fault of it
            drop(serve.await);
        });
    }
}

type Told = Response<BoxBody<Bytes, Infallible>>;

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Told, Infallible> {
    let target = request.headers().get("x-amz-target");
    let target = target.map_or("", |target| target.to_str().unwrap());
    let action = target.rsplit('.').next().unwrap_or_default().to_owned();
    *shared
        .asked
        .lock()
        .unwrap()
        .entry(action.clone())
        .or_default() += 1;
    let Ok(body) = request.into_body().collect().await else {
        return Ok(told(400, Bytes::new()));
    };
    let body = body.to_bytes();
    shared.note(&action, &body);
    let mood = *shared.mood.lock().unwrap();
    let refused = |exception: &str| {
        let kind = format!("com.amazonaws.dynamodb.v20120810#{exception}");
        let text = json!({ "__type": kind, "message": "not now" }).to_string();
        told(400, text.into())
    };
    Ok(match mood {
        Mood::Well => shared.hand_on(&action, &body).await,
        Mood::Slow(span) => {
            sleep(span).await;
            shared.hand_on(&action, &body).await
        }
        Mood::Refuses(exception) => refused(exception),
        Mood::Breaks(status) => told(status, "<html>it is broken</html>".into()),
        Mood::Says(text) => told(200, text.into()),
        Mood::Endless => Response::new(Endless(shared).boxed()),
        Mood::Denies if action == "PutItem" => refused("ConditionalCheckFailedException"),
        Mood::Denies => told(200, "{}".into()),
        Mood::Stale => shared.stale(&action, &body).await,
    })
}

fn told(status: u16, body: Bytes) -> Told {
    let answer = Response::builder()
        .status(status)
        .header("content-type", "application/x-amz-json-1.0");
    answer.body(Full::new(body).boxed()).unwrap()
}

impl Shared {
    async fn ask(&self, action: &str, body: &[u8]) -> Answer {
        let answer = talk(self.server, action, body).await;
        answer.unwrap_or((503, Vec::new()))
    }

    async fn hand_on(&self, action: &str, body: &[u8]) -> Told {
        let (status, body) = self.ask(action, body).await;
        told(status, body.into())
    }

    /// Remembers the first item of each key.
    fn note(&self, action: &str, body: &[u8]) {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        if let ("PutItem", Some(key)) = (action, body["Item"]["k"]["S"].as_str()) {
            let mut first = self.first.lock().unwrap();
            let item = || body["Item"].clone();
            first.entry(key.to_owned()).or_insert_with(item);
        }
    }

    async fn stale(&self, action: &str, body: &[u8]) -> Told {
        let (status, body) = self.ask(action, body).await;
        let told = |body: Vec<u8>| told(status, body.into());
        let Ok(mut answer) = serde_json::from_slice::<Value>(&body) else {
            return told(body);
        };
        let Some(key) = answer["Item"]["k"]["S"].as_str() else {
            return told(body);
        };
        if let Some(first) = self.first.lock().unwrap().get(key) {
            answer["Item"] = first.clone();
        }
        told(answer.to_string().into_bytes())
    }
}

/// A body without end, of spaces, which JSON can begin with.
struct Endless(Arc<Shared>);

/// A piece of it.
const PIECE: usize = 64 << 10;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        *self.0.taken.lock().unwrap() += PIECE as u64;
        let piece = Bytes::from_static(&[b' '; PIECE]);
        std::task::Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}
