//! The stack as a bare hyper service on one thread, with a connect that never leaves it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use axum::body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tower_affinity::balance::{Endpoint, ReplayBody};

use super::site::{Jar, check, site};
use crate::{forward_over, pool, serve_connection, stack};

#[tokio::test(flavor = "current_thread")]
async fn each_session_stays_in_one_group_on_one_thread() {
    LocalSet::new().run_until(run()).await;
}

async fn run() {
    let (affinity, groups) = site().await;
    let connected = Rc::new(Cell::new(0));
    let forward = forward_over::<ReplayBody<Incoming>>(pool());
    let count = Rc::clone(&connected);
    // neither `Send` nor `Sync`, as pools are that each thread has for itself
    let connect = move |endpoint: &Arc<Endpoint>| {
        count.set(count.get() + 1);
        forward(endpoint)
    };
    let service = stack(affinity, groups, connect);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let graceful = GracefulShutdown::new();
    let watcher = graceful.watcher();
    spawn_local(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve_connection(TokioIo::new(stream), service, watcher).await;
    });

    let stream = TcpStream::connect(address).await.unwrap();
    let io = TokioIo::new(stream);
    let (mut client, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    spawn_local(connection);
    let mut sessions = Vec::new();
    for _ in 0..32 {
        let mut jar = Jar::default();
        let mut answers = Vec::new();
        for _ in 0..4 {
            let request = jar.request().body(Body::empty()).unwrap();
            client.ready().await.unwrap();
            let response = client.send_request(request).await.unwrap();
            let (parts, body) = response.into_parts();
            jar.keep(&parts.headers);
            let body = body.collect().await.unwrap().to_bytes();
            answers.push((parts.status, String::from_utf8(body.to_vec()).unwrap()));
        }
        sessions.push(answers);
    }
    check(&sessions);
    assert_eq!(connected.get(), 32 * 4, "each request connects once");
    drop(client);
    graceful.shutdown().await;
}
