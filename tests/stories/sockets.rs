//! A WebSocket through the gateway stays where it is, and counts as in flight until it closes.

use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::jar::claims;
use affinity_tests::replica::{Replica, load};
use affinity_tests::{BOUND, Scratch, until};
use futures_util::{SinkExt, StreamExt};
use http::StatusCode;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

type Socket = WebSocketStream<TcpStream>;

async fn open(
    to: SocketAddr,
    path: &str,
    cookie: Option<&str>,
) -> Result<(Socket, Response), Error> {
    let mut request = format!("ws://{to}{path}").into_client_request()?;
    if let Some(cookie) = cookie {
        request
            .headers_mut()
            .insert("cookie", cookie.parse().expect("a cookie is text"));
    }
    let stream = TcpStream::connect(to).await.expect("the gateway is there");
    client_async(request, stream).await
}

async fn next(socket: &mut Socket) -> String {
    let message = timeout(BOUND, socket.next())
        .await
        .expect("a message comes in time");
    message
        .expect("the socket is open")
        .expect("a message comes")
        .into_text()
        .unwrap()
        .to_string()
}

async fn echoes(socket: &mut Socket, text: &str) {
    socket
        .send(Message::text(text))
        .await
        .expect("the socket is open");
    assert_eq!(next(socket).await, text);
}

#[tokio::test]
async fn c126_a_websocket_stays_on_its_group_over_a_hundred_changes_and_is_in_flight() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 0)]);
    let replica = Replica::start(&dir, &config).await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    client.get(replica.address(), "/").await;
    let cookies = client.jar.header();
    let (mut socket, answer) = open(replica.address(), "/ws", cookies.as_deref())
        .await
        .expect("it is switched");
    assert_eq!(next(&mut socket).await, OLD);
    let set = answer
        .headers()
        .get("set-cookie")
        .expect("streaming is use: the pin is prolonged");
    client.jar.take(set.to_str().unwrap());
    let pin = claims(client.jar.value(COOKIE).unwrap());
    let span = pin["exp"].as_u64().unwrap() - pin["sst"].as_u64().unwrap();
    assert_eq!(span, 4 * 3600, "not prolonged to the whole age: {pin}");

    let in_flight = async || {
        replica.admin.group(OLD).await["in_flight"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(in_flight().await, 1);
    for weight in 1..=20 {
        replica
            .admin
            .weights(&json!({ OLD: 0, NEW: weight }))
            .await
            .accepted();
    }
    echoes(&mut socket, "after the weights").await;
    for seconds in 10..20 {
        config.sections = format!("[upstream]\nresponse_timeout = \"{seconds}s\"\n");
        let file = config.write(&dir, "gateway.toml");
        replica
            .gateway
            .reload(load(&file))
            .expect("the edit is right");
    }
    echoes(&mut socket, "after other settings").await;
    replica
        .admin
        .verb(NEW, "promote", &json!({}))
        .await
        .accepted();
    echoes(&mut socket, "after the promotion").await;
    assert_eq!(in_flight().await, 1, "a tunnel is in flight");
    let labels = [("group", OLD)];
    let samples = replica.admin.samples().await;
    assert_eq!(samples.sum("affinity_requests_in_flight", &labels), 1.0);
    socket.close(None).await.expect("it can be closed");
    let end = timeout(BOUND, async { while socket.next().await.is_some() {} }).await;
    end.expect("the other side closes as well");
    drop(socket);
    until("nothing in flight", async || {
        (in_flight().await == 0).then_some(())
    })
    .await;
    let samples = replica.admin.samples().await;
    assert_eq!(samples.sum("affinity_requests_in_flight", &labels), 0.0);
    assert_eq!(
        client.get(replica.address(), "/").await.group(),
        Some(OLD),
        "draining keeps it"
    );
}

#[tokio::test]
async fn a_websocket_without_a_pin_gets_one_with_the_switch() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 1)])).await;
    let (mut socket, answer) = open(replica.address(), "/ws", None)
        .await
        .expect("it is switched");
    let group = next(&mut socket).await;
    assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
    let history = History::default();
    let mut client = Client::new(0, &history);
    client
        .jar
        .take(answer.headers()["set-cookie"].to_str().unwrap());
    for _ in 0..5 {
        assert_eq!(
            client.get(replica.address(), "/").await.group(),
            Some(group.as_str())
        );
    }
    echoes(&mut socket, "\u{2713} text").await;
}

#[tokio::test]
async fn an_endpoint_that_does_not_switch_is_answered_as_it_said() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1)])).await;
    match open(replica.address(), "/status/403", None).await {
        Err(Error::Http(answer)) => {
            assert_eq!(answer.status(), StatusCode::FORBIDDEN);
            assert_eq!(answer.headers()["x-group"], OLD);
        }
        other => panic!("no plain answer: {other:?}"),
    }
}

/// The code of the close frame that comes next, after the messages that are under way.
async fn close_code(socket: &mut Socket) -> Option<u16> {
    loop {
        let message = timeout(BOUND, socket.next()).await.expect("an end in time");
        match message? {
            Ok(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
            Ok(_) => {}
            Err(error) => panic!("cut without a close frame: {error}"),
        }
    }
}

#[tokio::test]
async fn websockets_of_an_aborted_group_are_told_to_come_back_within_its_grace() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 0), (NEW, 1)]);
    config.sections = "[rollback]\nstreams = \"1s\"\n".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let mut sockets = Vec::new();
    for _ in 0..5 {
        let (mut socket, _) = open(replica.address(), "/ws", None)
            .await
            .expect("a switch");
        assert_eq!(next(&mut socket).await, NEW);
        // an echo that may be under way when the end comes: frames stay whole
        let text = "x".repeat(100_000);
        socket.send(Message::text(text)).await.expect("it is open");
        sockets.push(socket);
    }
    replica
        .admin
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    let begun = tokio::time::Instant::now();
    for socket in &mut sockets {
        assert_eq!(
            close_code(socket).await,
            Some(1012),
            "not a service restart"
        );
    }
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    drop(sockets);
    until("nothing in flight", async || {
        (replica.admin.group(NEW).await["in_flight"] == 0).then_some(())
    })
    .await;
    let samples = replica.admin.samples().await;
    let counted = [("group", NEW), ("cause", "aborted")];
    assert_eq!(samples.sum("affinity_streams_cut_total", &counted), 5.0);
}

#[tokio::test]
async fn c126_websockets_of_a_gateway_that_ends_are_told_to_come_back() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1)]);
    config.listen = "drain = \"2s\"\n".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (mut socket, _) = open(replica.address(), "/ws", None)
        .await
        .expect("a switch");
    assert_eq!(next(&mut socket).await, OLD);
    let ending = tokio::spawn(replica.gateway.shutdown());
    echoes(&mut socket, "before its turn").await;
    assert_eq!(
        close_code(&mut socket).await,
        Some(1012),
        "not a service restart"
    );
    socket.close(None).await.ok();
    drop(socket);
    let drained = timeout(BOUND, ending).await.expect("an end").unwrap();
    assert_eq!((drained.asked, drained.tunnels), (1, 0), "{drained:?}");
}
