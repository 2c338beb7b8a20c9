//! An endpoint that keeps every byte it is sent and answers as the test says.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// From the request line to the empty line.
    pub(crate) head: Vec<u8>,
    /// What followed, chunks and trailers included.
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// All values of a field, exactly as they stand after the colon and one space.
    pub(crate) fn fields(&self, name: &str) -> Vec<Vec<u8>> {
        let head = &self.head[..self.head.len() - 4];
        let mut lines = split(head, b"\r\n").into_iter().skip(1);
        let mut found = Vec::new();
        for line in &mut lines {
            let colon = line.iter().position(|byte| *byte == b':');
            let (key, value) = line.split_at(colon.expect("a field has a colon"));
            if key.eq_ignore_ascii_case(name.as_bytes()) {
                found.push(
                    value[1..]
                        .strip_prefix(b" ")
                        .unwrap_or(&value[1..])
                        .to_vec(),
                );
            }
        }
        found
    }

    /// The only value of a field as text.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let mut values = self.fields(name);
        assert!(values.len() <= 1, "{name} came twice: {}", self.shown());
        values
            .pop()
            .map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    /// The decision and its cause.
    pub(crate) fn decision(&self) -> String {
        self.field("affinity-decision").expect("a decision is told")
    }

    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&[&*self.head, &*self.body].concat()).into_owned()
    }

    /// What makes this no request that every server reads alike; `None` if nothing does.
    pub(crate) fn fault(&self) -> Option<String> {
        let head = &self.head[..self.head.len() - 4];
        let mut lines = split(head, b"\r\n").into_iter();
        let start = lines.next().unwrap_or_default();
        let words: Vec<_> = start.split(|byte| *byte == b' ').collect();
        if words.len() != 3
            || words[2] != b"HTTP/1.1"
            || !words[1].starts_with(b"/") && words[1] != b"*"
        {
            return Some(format!("request line {:?}", String::from_utf8_lossy(start)));
        }
        for line in lines {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                return Some(format!("no field: {:?}", String::from_utf8_lossy(line)));
            };
            let token =
                |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
            let clean = |byte: &u8| !matches!(byte, 0 | b'\r' | b'\n');
            if colon == 0 || !line[..colon].iter().all(token) || !line.iter().all(clean) {
                return Some(format!("field {:?}", String::from_utf8_lossy(line)));
            }
        }
        let (hosts, lengths) = (
            self.fields("host").len(),
            self.fields("content-length").len(),
        );
        let codings = self.fields("transfer-encoding");
        let framed =
            lengths + codings.len() <= 1 && codings.iter().all(|coding| coding == b"chunked");
        (hosts != 1 || !framed).then(|| format!("{hosts} hosts, {lengths} lengths, {codings:?}"))
    }
}

/// A listener whose connections are all recorded. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<Seen>>,
    torn: Mutex<Vec<Vec<u8>>>,
    accepted: AtomicUsize,
    answer: Mutex<Vec<u8>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

impl Recorder {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("an endpoint can listen");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        let here = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                here.accepted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&here)));
            }
        });
        Self {
            address,
            shared,
            task: task.abort_handle(),
        }
    }

    /// From now on every answer is these bytes; empty for a plain 200.
    pub(crate) fn answer(&self, bytes: impl AsRef<[u8]>) {
        *self.shared.answer.lock().unwrap() = bytes.as_ref().to_vec();
    }

    /// All whole requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// As [`Recorder::seen`], and forgets them.
    pub(crate) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.shared.seen.lock().unwrap())
    }

    /// What came on connections that ended within a request.
    pub(crate) fn torn(&self) -> Vec<Vec<u8>> {
        self.shared.torn.lock().unwrap().clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, here: Arc<Shared>) {
    let mut read = Vec::new();
    loop {
        let Some(seen) = request(&mut stream, &mut read).await else {
            if !read.is_empty() {
                here.torn.lock().unwrap().push(read);
            }
            return;
        };
        here.seen.lock().unwrap().push(seen);
        let answer = here.answer.lock().unwrap().clone();
        let answer = if answer.is_empty() {
            PLAIN.to_vec()
        } else {
            answer
        };
        if stream.write_all(&answer).await.is_err() {
            return;
        }
        if find(&answer, b"connection: close").is_some() {
            return;
        }
    }
}

async fn request(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<Seen> {
    let end = until(stream, read, b"\r\n\r\n").await?;
    let head: Vec<u8> = read[..end].to_vec();
    let mut seen = Seen {
        head,
        body: Vec::new(),
    };
    let length = if seen.fields("transfer-encoding").is_empty() {
        let length = seen
            .field("content-length")
            .map_or(0, |text| text.parse().unwrap_or(0));
        while read.len() < end + length {
            more(stream, read).await?;
        }
        end + length
    } else {
        chunked(stream, read, end).await?
    };
    seen.body = read[end..length].to_vec();
    read.drain(..length);
    Some(seen)
}

/// Where a chunked body ends, its trailers included.
async fn chunked(stream: &mut TcpStream, read: &mut Vec<u8>, mut at: usize) -> Option<usize> {
    loop {
        let line = line(stream, read, at).await?;
        let size = String::from_utf8_lossy(&read[at..line - 2]).into_owned();
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        at = line;
        if size == 0 {
            loop {
                let end = self::line(stream, read, at).await?;
                let empty = end == at + 2;
                at = end;
                if empty {
                    return Some(at);
                }
            }
        }
        while read.len() < at + size + 2 {
            more(stream, read).await?;
        }
        at += size + 2;
    }
}

async fn line(stream: &mut TcpStream, read: &mut Vec<u8>, from: usize) -> Option<usize> {
    loop {
        if let Some(at) = find(&read[from..], b"\r\n") {
            return Some(from + at + 2);
        }
        more(stream, read).await?;
    }
}

async fn until(stream: &mut TcpStream, read: &mut Vec<u8>, mark: &[u8]) -> Option<usize> {
    loop {
        if let Some(at) = find(read, mark) {
            return Some(at + mark.len());
        }
        more(stream, read).await?;
    }
}

async fn more(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<()> {
    let count = stream.read_buf(read).await.ok()?;
    (count > 0).then_some(())
}

pub(super) fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|part| part == mark)
}

fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let (mut parts, mut rest) = (Vec::new(), bytes);
    while let Some(at) = find(rest, mark) {
        parts.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    parts.push(rest);
    parts
}
