//! What is sent again, where and how often, over real connections.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::Layer;
use tower_affinity::GroupIdentityLayer;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// An endpoint that reads each request to its end and then closes the connection without an answer.
async fn breaking(got: &Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let got = Arc::clone(got);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let got = Arc::clone(&got);
            let service = service_fn(move |request: Request<Incoming>| {
                let got = Arc::clone(&got);
                async move {
                    drop(request.into_body().collect().await);
                    got.fetch_add(1, Ordering::SeqCst);
                    Err::<Response<Full<Bytes>>, _>(std::io::Error::other("asked to break"))
                }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { drop(connection.await) });
        }
    });
    address
}

/// An endpoint of `NEW` whose layer knows that, and how often its application was called.
async fn knowing(calls: &Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Arc::clone(calls);
    let application = tower::service_fn(move |_: Request<Incoming>| {
        calls.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
    });
    let service = GroupIdentityLayer::new(NEW.parse().unwrap()).layer(application);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { drop(connection.await) });
        }
    });
    address
}

#[tokio::test]
async fn an_endpoint_that_dies_fails_no_get() {
    let mut fleet = Fleet::start(&[OLD], 3).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1)])).await;
    let history = History::default();
    let mut clients: Vec<_> = (0..8).map(|n| Client::new(n, &history)).collect();
    for round in 0..30 {
        if round == 10 {
            fleet.end(OLD, 0);
        }
        for client in &mut clients {
            let answer = client.get(replica.address(), "/").await;
            assert_eq!(answer.status, StatusCode::OK, "in round {round}");
        }
    }
}

#[tokio::test]
async fn a_post_that_an_endpoint_took_with_it_is_not_carried_out_again() {
    let mut fleet = Fleet::start(&[OLD], 2).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1)])).await;
    let (history, to) = (History::default(), replica.address());
    let waiting: Vec<_> = (0..6)
        .map(|number| {
            let mut client = Client::new(number, &history);
            let post = Request::post("/hold").body(Full::from("order")).unwrap();
            tokio::spawn(async move { client.send(to, post).await })
        })
        .collect();
    until("six orders to arrive", async || {
        (fleet.ledger().len() == 6).then_some(())
    })
    .await;
    fleet.end(OLD, 0);
    fleet.release();
    let mut failed = 0;
    for answer in waiting {
        let answer = answer.await.unwrap();
        failed += usize::from(answer.status == StatusCode::BAD_GATEWAY);
        // panics if it was carried out twice
        assert_eq!(fleet.ledger().of(answer.request).method, Method::POST);
    }
    assert!((1..6).contains(&failed), "{failed} of six were cut off");
}

#[tokio::test]
async fn a_body_is_sent_again_only_if_it_was_kept() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let got = Arc::default();
    let mut config = Config::new(&fleet, &[(OLD, 1)]);
    config.group(OLD).endpoints = vec![breaking(&got).await, breaking(&got).await];
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &config).await;
    let mut client = Client::new(0, &History::default());
    for (method, length, attempts) in [
        (Method::PUT, 65_536, 3),
        (Method::PUT, 65_537, 1),
        (Method::POST, 1, 1),
    ] {
        let request = Request::builder().method(method.clone()).uri("/");
        let request = request.body(Full::from(vec![b'x'; length])).unwrap();
        let answer = client.send(replica.address(), request).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
        let got = got.swap(0, Ordering::SeqCst);
        assert_eq!(got, attempts, "attempts of a {method} of {length} bytes");
    }
    let samples = replica.admin.samples().await;
    let outcome = |outcome| samples.sum("affinity_retries_total", &[("outcome", outcome)]);
    assert_eq!((outcome("failure"), outcome("limit")), (2.0, 1.0));
    assert_eq!(outcome("not_replayable"), 1.0);
}

#[tokio::test]
async fn a_group_that_is_broken_gets_little_more_than_its_requests() {
    const REQUESTS: usize = 300;
    let fleet = Fleet::start(&[OLD], 1).await;
    let got = Arc::default();
    let mut config = Config::new(&fleet, &[(OLD, 1)]);
    config.group(OLD).endpoints = vec![breaking(&got).await, breaking(&got).await];
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &config).await;
    let mut client = Client::new(0, &History::default());
    for _ in 0..REQUESTS {
        let answer = client.get(replica.address(), "/").await;
        assert!(answer.status.is_server_error());
    }
    // a fifth, and 3 a second over ten seconds, which is as long as the requests may take
    let (got, most) = (got.load(Ordering::SeqCst), REQUESTS + REQUESTS / 5 + 30);
    assert!(
        got > REQUESTS / 2,
        "{got} attempts, so hardly anything was sent"
    );
    assert!(got <= most, "{got} attempts for {REQUESTS} requests");
    let samples = replica.admin.samples().await;
    assert!(samples.sum("affinity_retries_total", &[("outcome", "budget")]) > 0.0);
}

#[tokio::test]
async fn an_address_that_another_commit_took_over_carries_nothing_out() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let calls = Arc::default();
    let mut config = Config::new(&fleet, &[(OLD, 1)]);
    config.group(OLD).endpoints.push(knowing(&calls).await);
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &config).await;
    let history = History::default();
    let mut clients: Vec<_> = (0..10).map(|n| Client::new(n, &history)).collect();
    for _ in 0..2 {
        for client in &mut clients {
            let post = Request::post("/").body(Full::from("order")).unwrap();
            let get = Request::get("/").body(Full::default()).unwrap();
            for request in [post, get] {
                let answer = client.send(replica.address(), request).await;
                assert_eq!((answer.status, answer.group()), (StatusCode::OK, Some(OLD)));
                assert!(!answer.headers.contains_key("affinity-misdirected"));
                assert_eq!(fleet.ledger().of(answer.request).group.as_ref(), OLD);
            }
        }
    }
    assert_eq!(
        calls.load(Ordering::SeqCst),
        0,
        "the other commit carried something out"
    );
    let samples = replica.admin.samples().await;
    assert!(samples.sum("affinity_wrong_group_total", &[("group", OLD)]) > 0.0);
}
