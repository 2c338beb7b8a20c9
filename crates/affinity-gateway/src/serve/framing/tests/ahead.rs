//! What goes ahead of an answer never gets into the one before it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Semaphore;
use tower::service_fn;

use super::LIMITS;
use crate::scheme::Scheme;
use crate::serve::activity::Activity;
use crate::serve::framing::{Ahead, Framed, Gate, Interim};
use crate::serve::service::ConnectionService;

/// More than the pipe to the client holds, less than hyper keeps.
const LONG: usize = 32 * 1024;
const HINT: &str = "HTTP/1.1 103 Early Hints\r\n\r\n";

/// A connection whose POSTs are answered at length before their bodies have ended. A GET has a hint
/// at once, and its answer with a permit.
fn serve(answers: &Arc<Semaphore>) -> DuplexStream {
    let (client, server) = duplex(1024);
    let gate = Gate::default();
    let stream = Framed::new(server, gate.clone(), LIMITS);
    let io = TokioIo::new(Ahead::new(stream, gate.clone()));
    let answers = Arc::clone(answers);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let answers = Arc::clone(&answers);
        async move {
            let interim = request.extensions_mut().remove::<Interim>().unwrap();
            let body = match *request.method() {
                Method::POST => {
                    tokio::spawn(request.into_body().collect());
                    Bytes::from(vec![b'x'; LONG])
                }
                _ => {
                    interim.pass(StatusCode::EARLY_HINTS, HeaderMap::new);
                    answers.acquire().await.unwrap().forget();
                    Bytes::from("done")
                }
            };
            Ok::<_, Infallible>(Response::new(Full::new(body)))
        }
    });
    let (early, events) = (Arc::new(|_: StatusCode| {}), Arc::new(|_| {}));
    let origin = ("127.0.0.1:9".parse().unwrap(), Scheme::Http);
    let activity = Activity::default();
    let service = ConnectionService::new(service, origin, gate, activity, early, events);
    let service = TowerToHyperService::new(service);
    let connection = http1::Builder::new()
        // one buffer for all: hyper asks the service while it still holds an answer
        .writev(false)
        .serve_connection(io, service);
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// Reads to the end of the next head and as many bytes more.
async fn read(client: &mut DuplexStream, more: usize) -> (String, Vec<u8>) {
    let (mut head, mut body) = (Vec::new(), vec![0; more]);
    let read = async {
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        client.read_exact(&mut body).await.unwrap();
    };
    let read = tokio::time::timeout(Duration::from_secs(60), read).await;
    let head = String::from_utf8_lossy(&head).into_owned();
    assert!(read.is_ok(), "nothing more comes after {head:?}");
    (head, body)
}

#[tokio::test(start_paused = true)]
async fn a_hint_waits_until_the_answer_before_it_is_out() {
    let answers = Arc::new(Semaphore::new(0));
    let mut client = serve(&answers);
    let post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n12";
    client.write_all(post.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    // the body ends while its answer is still on the way: the next request is read
    client
        .write_all(b"34GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (_, body) = read(&mut client, LONG).await;
    assert!(
        body.iter().all(|byte| *byte == b'x'),
        "a hint got into the answer"
    );
    assert_eq!(read(&mut client, 0).await.0, HINT);
    answers.add_permits(1);
    let (head, body) = read(&mut client, 4).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(body, b"done");
}

/// It has nothing to go ahead of any more.
#[tokio::test(start_paused = true)]
async fn a_hint_that_had_to_wait_is_left_out_behind_its_answer() {
    let answers = Arc::new(Semaphore::new(1));
    let mut client = serve(&answers);
    let post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n12";
    client.write_all(post.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    client
        .write_all(b"34GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (_, body) = read(&mut client, LONG).await;
    assert!(
        body.iter().all(|byte| *byte == b'x'),
        "a hint got into the answer"
    );
    let (head, _) = read(&mut client, 4).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    // and not ahead of the next answer either
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(read(&mut client, 0).await.0, HINT);
    answers.add_permits(1);
    let (head, _) = read(&mut client, 4).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
}
