//! Endpoints and clients that do as little as HTTP/1.1 allows, for a hundred thousand requests.
//!
//! An endpoint answers `204` at once and names its group; `/end` also ends the session, as a success.
//! What it is sent needs no body.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// The longest head that is read.
const HEAD: usize = 16 << 10;

/// An endpoint that only counts. Dropping it ends it.
#[derive(Debug)]
pub struct BareEndpoint {
    address: SocketAddr,
    seen: Arc<AtomicU64>,
    task: AbortHandle,
}

impl BareEndpoint {
    /// Starts one of a group.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub async fn start(group: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("an endpoint can listen");
        let address = listener.local_addr().expect("a listener has an address");
        let seen = Arc::<AtomicU64>::default();
        let accept = accept(listener, group.to_owned(), Arc::clone(&seen));
        let task = tokio::spawn(accept).abort_handle();
        Self {
            address,
            seen,
            task,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests it has answered.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }
}

impl Drop for BareEndpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, group: String, seen: Arc<AtomicU64>) {
    // connections end with the endpoint
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("an endpoint can accept");
        connections.spawn(answer_all(stream, group.clone(), Arc::clone(&seen)));
        while connections.try_join_next().is_some() {}
    }
}

async fn answer_all(mut stream: TcpStream, group: String, seen: Arc<AtomicU64>) {
    let plain = format!("HTTP/1.1 204 No Content\r\nx-group: {group}\r\n\r\n");
    let end = format!(
        "HTTP/1.1 204 No Content\r\nx-group: {group}\r\naffinity-session: end\r\n\
         affinity-outcome: success\r\n\r\n"
    );
    let mut buffer = Vec::new();
    while let Some(head) = head(&mut stream, &mut buffer).await {
        seen.fetch_add(1, Ordering::SeqCst);
        let answer = if head.starts_with("GET /end ") {
            &end
        } else {
            &plain
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// An answer, of which only the head counts.
#[derive(Clone, Debug)]
pub struct BareAnswer(String);

impl BareAnswer {
    /// The status.
    ///
    /// # Panics
    ///
    /// If it has none.
    #[must_use]
    pub fn status(&self) -> u16 {
        let status = self.0.split(' ').nth(1).and_then(|code| code.parse().ok());
        status.unwrap_or_else(|| panic!("no status: {}", self.0))
    }

    /// The group that answered; `None` if the gateway did.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.field("x-group")
    }

    /// The cookie that it sets, as a request carries it; `NAME=` where it is cleared.
    #[must_use]
    pub fn cookie(&self) -> Option<&str> {
        self.field("set-cookie")?.split(';').next()
    }

    fn field(&self, name: &str) -> Option<&str> {
        let lines = self.0.lines().skip(1);
        let mut fields = lines.filter_map(|line| line.split_once(": "));
        fields
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// One kept-alive connection to a gateway.
#[derive(Debug)]
pub struct BareClient {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl BareClient {
    /// Connects.
    ///
    /// # Panics
    ///
    /// If nobody listens there.
    pub async fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("a gateway listens");
        stream
            .set_nodelay(true)
            .expect("a socket takes its options");
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Asks with a method and a path, and reads the answer, which has to be without a body or to
    /// tell how long that is.
    ///
    /// # Panics
    ///
    /// If the connection ends before the answer.
    pub async fn ask(&mut self, method: &str, path: &str, cookie: Option<&str>) -> BareAnswer {
        let cookie = cookie.map(|cookie| format!("cookie: {cookie}\r\n"));
        let cookie = cookie.unwrap_or_default();
        let request = format!("{method} {path} HTTP/1.1\r\nhost: a\r\n{cookie}\r\n");
        let sent = self.stream.write_all(request.as_bytes()).await;
        sent.expect("the gateway takes a request");
        let head = head(&mut self.stream, &mut self.buffer).await;
        let answer = BareAnswer(head.expect("an answer"));
        let length = answer.field("content-length").and_then(|n| n.parse().ok());
        let length: usize = length.unwrap_or_default();
        while self.buffer.len() < length {
            let more = more(&mut self.stream, &mut self.buffer).await;
            assert!(more, "the answer was cut: {answer:?}");
        }
        self.buffer.drain(..length);
        answer
    }
}

/// The next head; `None` if there is none any more.
async fn head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head: Vec<u8> = buffer.drain(..end + 4).collect();
            return Some(String::from_utf8(head).expect("a head is text"));
        }
        assert!(buffer.len() < HEAD, "a head without an end");
        if !more(stream, buffer).await {
            return None;
        }
    }
}

/// Reads more; `false` at the end.
async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    stream.read_buf(buffer).await.is_ok_and(|read| read > 0)
}
