//! HTTP/2 without TLS in front of HTTP/1.1 endpoints.

use std::net::SocketAddr;

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

async fn connect<B>(to: SocketAddr) -> SendRequest<B>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TcpStream::connect(to).await.expect("the gateway is there");
    let io = TokioIo::new(stream);
    let (sender, connection) = handshake(TokioExecutor::new(), io)
        .await
        .expect("h2c is spoken");
    tokio::spawn(async move { drop(connection.await) });
    sender
}

#[tokio::test]
async fn a_pin_among_crumbs_is_found_and_the_other_crumbs_are_kept() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 1)])).await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    let group = client
        .get(replica.address(), "/")
        .await
        .group()
        .unwrap()
        .to_owned();
    let pin = client.jar.value(COOKIE).unwrap();
    let mut sender = connect::<Full<Bytes>>(replica.address()).await;
    for at in 0..4 {
        let mut crumbs = vec!["a=1".to_owned(), "b=2".to_owned(), "c=3".to_owned()];
        crumbs.insert(at, format!("{COOKIE}={pin}"));
        let mut request = Request::get(format!("http://site/crumbs/{at}")).version(Version::HTTP_2);
        for crumb in crumbs {
            request = request.header("cookie", crumb);
        }
        let answer = sender
            .send_request(request.body(Full::default()).unwrap())
            .await
            .unwrap();
        assert_eq!(answer.headers()["x-group"], group.as_str());
        let execution = fleet.ledger().arrival(&format!("/crumbs/{at}")).await;
        assert_eq!(execution.decision(), "pinned; cause=ok");
        assert_eq!(
            execution.field("cookie"),
            Some(&b"a=1; b=2; c=3"[..]),
            "crumb {at}"
        );
        assert_eq!(execution.field("host"), Some(&b"site"[..]));
    }
}

#[tokio::test]
async fn streams_of_one_connection_are_sessions_of_their_own() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 1)])).await;
    let sender = connect::<Full<Bytes>>(replica.address()).await;
    let streams = (0..60).map(|_| {
        let mut sender = sender.clone();
        async move {
            let request = Request::get("http://site/").body(Full::default()).unwrap();
            let answer = sender.send_request(request).await.unwrap();
            (
                answer.headers()["x-group"].clone(),
                answer.headers()["set-cookie"].clone(),
            )
        }
    });
    let answers = futures_util::future::join_all(streams).await;
    for group in [OLD, NEW] {
        let drawn = answers
            .iter()
            .filter(|(answered, _)| answered == group)
            .count();
        assert!(drawn > 5, "{group} was drawn {drawn} of 60 times");
    }
    let pins: std::collections::BTreeSet<_> =
        answers.iter().map(|(_, pin)| pin.as_bytes()).collect();
    assert_eq!(pins.len(), 60, "two streams share a pin");
}

#[tokio::test]
async fn a_stream_carries_bodies_and_trailers_both_ways() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1)])).await;
    let trailers = http::HeaderMap::from_iter([("x-sum".parse().unwrap(), "12".parse().unwrap())]);
    let frames = [
        Frame::data(Bytes::from("first,")),
        Frame::data(Bytes::from("second")),
        Frame::trailers(trailers),
    ];
    let frames = frames.into_iter().map(Ok::<_, std::convert::Infallible>);
    let body = StreamBody::new(futures_util::stream::iter(frames));
    let mut sender = connect(replica.address()).await;
    let request = Request::post("http://site/echo")
        .header("te", "trailers")
        .header("trailer", "x-sum")
        .body(body)
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap();
    assert_eq!(body.trailers().expect("trailers come back")["x-sum"], "12");
    assert_eq!(body.to_bytes(), "first,second");
}
