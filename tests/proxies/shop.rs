//! Two gateways of one service in front of two commits.

use std::net::SocketAddr;
use std::sync::Arc;

use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::replica::Replica;
use affinity_tests::{BOUND, Scratch};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tower_affinity_testing::engine::MemoryEngine;

use super::page::Site;
use super::proxy::free;

pub(crate) const OLD: &str = "9f1c2ab";
pub(crate) const NEW: &str = "c3d4e5f";

pub(crate) struct Shop {
    pub(crate) fleet: Fleet,
    pub(crate) site: Site,
    gateways: Vec<Replica>,
    _dir: Scratch,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 2).await;
        let (old, new) = (fleet.addresses(OLD), fleet.addresses(NEW));
        let (dir, engine) = (Scratch::new(), Arc::new(MemoryEngine::new()));
        let mut gateways = Vec::new();
        for name in ["one", "two"] {
            let config = Config {
                state: format!("{name}.json"),
                listen: "trusted_proxies = [\"127.0.0.1/32\"]\n".to_owned(),
                ..Config::new(&fleet, &[(OLD, 1), (NEW, 1)])
            };
            let file = format!("{name}.toml");
            gateways.push(Replica::join(&dir, &config, &file, engine.clone()).await);
        }
        let site = Site {
            front: free(),
            gateways: [gateways[0].address(), gateways[1].address()],
            old: [old[0], old[1]],
            new: new[0],
        };
        Self {
            fleet,
            site,
            gateways,
            _dir: dir,
        }
    }

    /// How many gateways have counted a request.
    pub(crate) async fn gateways_that_served(&self) -> usize {
        let mut served = 0;
        for gateway in &self.gateways {
            let text = gateway.admin.get("/metrics").await.text();
            served += usize::from(text.contains("affinity_requests_total{"));
        }
        served
    }
}

/// What a WebSocket is told first: the commit that it is on.
pub(crate) async fn first_word(to: SocketAddr, cookie: &str) -> String {
    let mut request = format!("ws://{to}/ws").into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("cookie", cookie.parse().expect("a cookie is text"));
    let stream = TcpStream::connect(to).await.expect("the proxy is there");
    let (mut socket, _) = client_async(request, stream).await.expect("it is switched");
    let word = timeout(BOUND, socket.next())
        .await
        .expect("it comes in time");
    word.unwrap().unwrap().into_text().unwrap().to_string()
}

/// The beginning of the answer to a request from an address of this machine.
pub(crate) async fn get_from(from: &str, to: SocketAddr, path: &str, more: &str) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    let mut stream = socket.connect(to).await.expect("the proxy is there");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(BOUND, stream.read_to_end(&mut answer)).await;
    read.expect("it is answered in time").expect("it is whole");
    String::from_utf8_lossy(&answer).into_owned()
}
