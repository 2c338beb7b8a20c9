//! Requests written by hand, and what came back.

use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::BOUND;
use affinity_tests::config::COOKIE;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::recorder::find;

/// Far above what an answer takes here. Too short, it only makes a test see less.
const QUIET: Duration = Duration::from_millis(30);

/// A GET for `/` with more lines; the connection ends with the answer.
pub(crate) fn get(lines: impl AsRef<[u8]>) -> Vec<u8> {
    let head = b"GET / HTTP/1.1\r\nhost: shop.example\r\nconnection: close\r\n";
    [head, lines.as_ref(), b"\r\n"].concat()
}

/// Writes bytes and reads until the other side ends the connection.
pub(crate) async fn talk(to: SocketAddr, bytes: impl AsRef<[u8]>) -> Reply {
    let mut talk = Talk::open(to).await;
    talk.write(bytes).await;
    talk.end().await
}

/// A GET with one cookie line.
pub(crate) async fn ask(to: SocketAddr, cookie: impl AsRef<[u8]>) -> Reply {
    talk(to, get([b"cookie: ", cookie.as_ref(), b"\r\n"].concat())).await
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Talk(TcpStream);

impl Talk {
    pub(crate) async fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await;
        Self(stream.unwrap_or_else(|e| panic!("{to} is not there: {e}")))
    }

    /// Writes as much as the other side takes: it may close before all is sent.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let write = timeout(BOUND, self.0.write_all(bytes.as_ref())).await;
        write.expect("bytes are taken or refused in time").is_ok()
    }

    /// Reads one answer whose body is told by its content length.
    pub(crate) async fn answer(&mut self) -> Reply {
        let mut read = Vec::new();
        let mut whole = false;
        while !whole {
            let mut byte = [0; 4096];
            let count = timeout(BOUND, self.0.read(&mut byte)).await;
            let count = count.expect("an answer comes in time").unwrap_or(0);
            assert!(
                count > 0,
                "ended within an answer: {}",
                String::from_utf8_lossy(&read)
            );
            read.extend_from_slice(&byte[..count]);
            let Some(end) = find(&read, b"\r\n\r\n") else {
                continue;
            };
            let reply = Reply(read.clone());
            let length = reply
                .field("content-length")
                .map_or(0, |text| text.parse().unwrap());
            whole = read.len() >= end + 4 + length;
        }
        Reply(read)
    }

    /// Reads to the end, and says that nothing more comes once nothing more is answered: a request
    /// that was cut off waits for its rest.
    pub(crate) async fn finish(mut self) -> Reply {
        let mut read = Vec::new();
        while let Ok(count) = timeout(QUIET, self.0.read_buf(&mut read)).await {
            // a reset is an end as well
            if count.unwrap_or(0) == 0 {
                return Reply(read);
            }
        }
        // a connection that is gone needs no end
        drop(self.0.shutdown().await);
        let rest = self.end().await;
        Reply([read, rest.0].concat())
    }

    /// Reads to the end.
    pub(crate) async fn end(mut self) -> Reply {
        let mut read = Vec::new();
        let end = timeout(BOUND, self.0.read_to_end(&mut read)).await;
        // a reset is an end as well
        drop(end.unwrap_or_else(|_| panic!("never ended: {}", String::from_utf8_lossy(&read))));
        Reply(read)
    }
}

/// The bytes that came back.
#[derive(Clone, Debug)]
pub(crate) struct Reply(pub(crate) Vec<u8>);

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The first answer's status; 0 if there is none.
    pub(crate) fn status(&self) -> u16 {
        let text = self.text();
        let status = text
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3)?.parse().ok());
        status.unwrap_or(0)
    }

    /// How many answers there are; no body of a test holds a status line.
    pub(crate) fn answers(&self) -> usize {
        self.text().matches("HTTP/1.1 ").count()
    }

    /// The values of a field of the first answer.
    pub(crate) fn fields(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        let fields = head
            .split("\r\n")
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        let named = fields.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.to_owned()).collect()
    }

    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.fields(name).into_iter().next()
    }

    /// The pin that it sets.
    pub(crate) fn pin(&self) -> Option<String> {
        let ours = format!("{COOKIE}=");
        let lines = self.fields("set-cookie");
        let mut pins = lines.iter().filter_map(|line| line.strip_prefix(&ours));
        let pin = pins.next()?.split(';').next()?.to_owned();
        assert!(pins.next().is_none(), "two pins: {}", self.text());
        Some(pin)
    }
}

/// Sends a request over a new HTTP/2 connection with prior knowledge.
pub(crate) async fn h2(
    to: SocketAddr,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, hyper::Error> {
    let stream = TcpStream::connect(to).await.expect("the gateway is there");
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let exchange = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    };
    timeout(BOUND, exchange)
        .await
        .expect("an answer comes in time")
}
