//! Bytes as they are, for what a client library would tidy up.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::BOUND;

/// A connection on which every byte is the story's own.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Raw {
    /// Opens one.
    ///
    /// # Panics
    ///
    /// If nobody listens there.
    pub async fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await;
        let stream = stream.unwrap_or_else(|e| panic!("{to} is not there: {e}"));
        stream
            .set_nodelay(true)
            .expect("a socket takes its options");
        Self {
            stream,
            read: Vec::new(),
        }
    }

    /// Writes bytes.
    ///
    /// # Panics
    ///
    /// If the peer does not take them.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .write_all(bytes.as_ref())
            .await
            .expect("the peer takes bytes");
    }

    /// Reads until what was read holds `piece`; answers everything up to its end, and keeps what
    /// came after it.
    ///
    /// # Panics
    ///
    /// If the connection ends first, or nothing comes in time.
    pub async fn read_to(&mut self, piece: &str) -> String {
        loop {
            let mut places = self.read.windows(piece.len());
            if let Some(at) = places.position(|bytes| bytes == piece.as_bytes()) {
                let head: Vec<u8> = self.read.drain(..at + piece.len()).collect();
                return String::from_utf8_lossy(&head).into_owned();
            }
            let more = timeout(BOUND, self.stream.read_buf(&mut self.read)).await;
            let more = more.unwrap_or_else(|_| panic!("{piece:?} never came: {}", self.shown()));
            let ended = more.is_err() || more.is_ok_and(|bytes| bytes == 0);
            assert!(
                !ended,
                "the connection ended before {piece:?}: {}",
                self.shown()
            );
        }
    }

    /// Reads until the peer ends the connection; answers everything.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub async fn read_all(mut self) -> String {
        let end = timeout(BOUND, self.stream.read_to_end(&mut self.read)).await;
        // a reset ends it as well
        drop(end.unwrap_or_else(|_| panic!("the connection never ended: {}", self.shown())));
        self.shown()
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }
}

/// Writes one request and answers all that comes back until the end. The request should say
/// `connection: close`.
pub async fn talk(to: SocketAddr, request: impl AsRef<[u8]>) -> String {
    let mut raw = Raw::connect(to).await;
    raw.write(request).await;
    raw.read_all().await
}
