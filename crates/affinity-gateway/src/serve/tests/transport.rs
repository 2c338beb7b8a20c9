//! The PROXY header and TLS, before the first HTTP byte.

use std::{io, net::SocketAddr, sync::Mutex};

use ipnet::IpNet;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ClientConfig, ProtocolVersion, RootCertStore, ServerConfig, crypto::aws_lc_rs,
    pki_types::ServerName,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;
use crate::serve::{
    Scheme, Transport, TransportEvent, Transports,
    tls::{Identity, own_tickets, server_config},
};

/// What was recorded, in its order.
type Events = Arc<Mutex<Vec<TransportEvent>>>;

/// A listener that answers with the peer and the scheme of a request.
async fn telling(transport: Transport, options: ServeOptions) -> (Running, Events) {
    let events = Events::default();
    let recorded = Arc::clone(&events);
    let transports = Transports::recorded(transport, move |event| {
        recorded.lock().unwrap().push(event);
    });
    let service = service_fn(|request: Request<Incoming>| async move {
        let peer = request.extensions().get::<PeerAddr>().expect("a peer").0;
        let scheme = request.extensions().get::<Scheme>();
        let version = request.version();
        let told = format!("{peer} {scheme:?} {version:?}!");
        Ok::<_, Infallible>(Response::new(Body::from(told)))
    });
    let options = options.transports(transports);
    let running = Running::start(service, options, Tunnels::new()).await;
    (running, events)
}

/// TLS of a server, and what its clients need to believe it.
fn tls() -> (Arc<ServerConfig>, RootCertStore) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = signing_key.serialize_pem();
    let identity = Identity::from_pem(cert.pem().as_bytes(), key.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    (
        server_config(&identity, own_tickets().unwrap(), true).unwrap(),
        roots,
    )
}

fn client(roots: &RootCertStore, alpn: &[&str]) -> TlsConnector {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config).into()
}

async fn shake(
    client: &TlsConnector,
    address: SocketAddr,
    before: &[u8],
) -> io::Result<TlsStream<TcpStream>> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(before).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    within("the handshake", client.connect(name, stream)).await
}

/// The whole answer to a request that closes.
async fn asked(mut stream: TlsStream<TcpStream>) -> String {
    let request = GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = within("the answer", stream.read_to_string(&mut answer)).await;
    read.expect("the end is said by TLS, too");
    answer
}

fn here() -> [IpNet; 1] {
    ["127.0.0.0/8".parse().unwrap()]
}

#[tokio::test]
async fn a_request_over_tls_knows_its_scheme() {
    let (config, roots) = tls();
    let (running, events) = telling(Transport::new().tls(config), ServeOptions::new()).await;
    let stream = shake(&client(&roots, &["http/1.1"]), running.address, b"").await;
    let stream = stream.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let answer = asked(stream).await;
    assert!(answer.ends_with("Some(Https) HTTP/1.1!"), "{answer}");
    assert_eq!(*events.lock().unwrap(), [TransportEvent::FullHandshake]);
}

#[tokio::test]
async fn http_2_is_chosen_by_alpn() {
    let (config, roots) = tls();
    let (running, _) = telling(Transport::new().tls(config), ServeOptions::new()).await;
    let client = client(&roots, &["http/1.1", "h2"]);
    let stream = shake(&client, running.address, b"").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = "https://localhost/".parse().unwrap();
    let answer = within("the answer", sender.send_request(request))
        .await
        .unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(body.ends_with(b"Some(Https) HTTP/2.0!"), "{body:?}");
}

#[tokio::test]
async fn both_versions_of_tls_are_spoken() {
    let (config, roots) = tls();
    let (running, _) = telling(Transport::new().tls(config), ServeOptions::new()).await;
    for (version, wanted) in [
        (&rustls::version::TLS12, ProtocolVersion::TLSv1_2),
        (&rustls::version::TLS13, ProtocolVersion::TLSv1_3),
    ] {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        let client = TlsConnector::from(Arc::new(config));
        let stream = shake(&client, running.address, b"").await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(wanted));
        assert!(asked(stream).await.contains("200 OK"));
    }
}

#[tokio::test]
async fn a_handshake_that_fails_or_takes_too_long_is_closed_and_recorded() {
    let (config, roots) = tls();
    let (running, events) = telling(Transport::new().tls(config), impatient()).await;
    let mut silent = Wire::connect(running.address).await;
    assert_eq!(silent.rest().await, "");
    let mut plain = Wire::connect(running.address).await;
    plain.send(GET).await;
    let told = plain.rest().await;
    assert!(!told.contains("HTTP"), "{told}");
    let failed = shake(&client(&roots, &["ftp"]), running.address, b"").await;
    assert!(failed.is_err(), "no protocol in common");
    assert_eq!(
        *events.lock().unwrap(),
        [TransportEvent::FailedHandshake; 3]
    );
}

#[tokio::test]
async fn a_handshake_counts_into_the_limit_of_connections() {
    let (config, roots) = tls();
    let options = limited(|limits| limits.max_connections = 1);
    let (running, _) = telling(Transport::new().tls(config), options).await;
    let silent = TcpStream::connect(running.address).await.unwrap();
    let client = client(&roots, &[]);
    let second = shake(&client, running.address, b"");
    let mut second = std::pin::pin!(second);
    let a_moment = Duration::from_millis(50);
    assert!(
        tokio::time::timeout(a_moment, second.as_mut())
            .await
            .is_err(),
        "accepted above the limit"
    );
    drop(silent);
    assert!(asked(second.await.unwrap()).await.contains("200 OK"));
}

#[tokio::test]
async fn a_handshake_that_runs_at_the_end_is_cut_at_the_deadline() {
    let (config, _) = tls();
    let options = ServeOptions::new().drain_deadline(Duration::from_millis(50));
    let (running, _) = telling(Transport::new().tls(config), options).await;
    let mut silent = Wire::connect(running.address).await;
    silent.send(b"\x16\x03\x01").await;
    // accepted by then, as it is first in the queue
    tokio::time::sleep(Duration::from_millis(20)).await;
    running.stop();
    assert_eq!(running.ended().await.connections, 1);
    assert_eq!(silent.rest().await, "");
}

#[tokio::test]
async fn a_proxy_names_its_client() {
    let transport = Transport::new().proxy_protocol(here());
    let (running, events) = telling(transport, ServeOptions::new()).await;
    for (header, peer) in [
        (
            &b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n"[..],
            "203.0.113.7:4711",
        ),
        (
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x07\xc0\0\x02\x01\x12\x67\x01\xbb",
            "203.0.113.7:4711",
        ),
    ] {
        let mut proxy = Wire::connect(running.address).await;
        proxy
            .send([header, GET.as_bytes(), GET.as_bytes()].concat())
            .await;
        for _ in 0..2 {
            proxy.head().await;
            assert_eq!(proxy.until("!").await, format!("{peer} None HTTP/1.1!"));
        }
    }
    for header in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
        let mut proxy = Wire::connect(running.address).await;
        proxy.send([header, GET.as_bytes()].concat()).await;
        proxy.head().await;
        let own = proxy.address();
        assert_eq!(proxy.until("!").await, format!("{own} None HTTP/1.1!"));
    }
    assert_eq!(*events.lock().unwrap(), []);
}

#[tokio::test]
async fn a_proxy_without_a_right_header_in_time_is_closed_and_recorded() {
    let transport = Transport::new().proxy_protocol(here());
    let (running, events) = telling(transport, impatient()).await;
    for wrong in [
        GET.as_bytes(),
        b"PROXY TCP4 nonsense\r\n",
        b"PROXY TCP4 203.",
        b"P",
    ] {
        let mut proxy = Wire::connect(running.address).await;
        proxy.send(wrong).await;
        assert_eq!(
            proxy.rest().await,
            "",
            "{:?}",
            String::from_utf8_lossy(wrong)
        );
    }
    let refused = [TransportEvent::RefusedProxyHeader; 4];
    assert_eq!(*events.lock().unwrap(), refused);
    let mut check = Wire::connect(running.address).await;
    check.finish().await;
    assert_eq!(check.rest().await, "");
    assert_eq!(*events.lock().unwrap(), refused, "a check is no fault");
}

#[tokio::test]
async fn a_header_of_a_stranger_is_a_bad_request() {
    let strangers = ["192.0.2.0/24".parse().unwrap()];
    let transport = Transport::new().proxy_protocol(strangers);
    let (running, events) = telling(transport, ServeOptions::new()).await;
    let mut stranger = Wire::connect(running.address).await;
    stranger
        .send("PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n")
        .await;
    stranger.send(GET).await;
    let answer = stranger.rest().await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let mut plain = Wire::connect(running.address).await;
    plain.send(GET).await;
    plain.head().await;
    let own = plain.address();
    assert_eq!(plain.until("!").await, format!("{own} None HTTP/1.1!"));
    assert_eq!(*events.lock().unwrap(), []);
}

#[tokio::test]
async fn the_header_comes_before_tls() {
    let (config, roots) = tls();
    let transport = Transport::new().proxy_protocol(here()).tls(config);
    let (running, events) = telling(transport, ServeOptions::new()).await;
    let header = b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n";
    let stream = shake(&client(&roots, &[]), running.address, header).await;
    let answer = asked(stream.unwrap()).await;
    let told = "[2001:db8::7]:4711 Some(Https) HTTP/1.1!";
    assert!(answer.ends_with(told), "{answer}");
    assert_eq!(*events.lock().unwrap(), [TransportEvent::FullHandshake]);
}

#[tokio::test]
async fn open_connections_keep_the_transport_that_they_began_with() {
    let transports = Transports::default();
    let service = service_fn(|_: Request<Incoming>| async {
        Ok::<_, Infallible>(Response::new(Body::from("served!")))
    });
    let options = ServeOptions::new().transports(transports.clone());
    let running = Running::start(service, options, Tunnels::new()).await;
    let mut before = Wire::connect(running.address).await;
    before.send(GET).await;
    before.until("served!").await;
    let (config, roots) = tls();
    transports.replace(Transport::new().tls(config));
    before.send(GET).await;
    before.until("served!").await;
    let after = shake(&client(&roots, &[]), running.address, b"").await;
    assert!(asked(after.unwrap()).await.ends_with("served!"));
}
