//! A connection whose bytes are the test's own.

use std::fmt;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::frame::Frame;

/// What a client sends before its first frame.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a server may send to a client that has not allowed more.
const LONGEST_PAYLOAD: usize = 1 << 14;

const HEAD: usize = 9;

/// A connection that sends nothing by itself.
pub struct Connection {
    stream: Box<dyn Stream>,
    read: Vec<u8>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connection {
    /// Connects.
    ///
    /// # Panics
    ///
    /// If nobody listens.
    pub async fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await;
        let stream = stream.unwrap_or_else(|e| panic!("{to} is not there: {e}"));
        stream
            .set_nodelay(true)
            .expect("a socket takes its options");
        Self::over(stream)
    }

    /// Over a stream that is open already.
    pub fn over(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            read: Vec::new(),
        }
    }

    /// Writes as much as the other side takes; false if it has closed before all was sent.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok() && self.stream.flush().await.is_ok()
    }

    /// The next frame; `None` once the other side has closed, in the middle of a frame included.
    /// What cannot be a frame, such as an answer in HTTP/1.1, is passed over to the end.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(head) = self.read.first_chunk::<HEAD>() {
                let (mut frame, length) = Frame::head(*head);
                if length > LONGEST_PAYLOAD {
                    self.pass_over().await;
                    return None;
                }
                if self.read.len() >= HEAD + length {
                    frame.payload = self.read.drain(..HEAD + length).skip(HEAD).collect();
                    return Some(frame);
                }
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn pass_over(&mut self) {
        // the head stays, so that a call that was cancelled finds it again
        while self.more().await {
            self.read.truncate(HEAD);
        }
    }

    async fn more(&mut self) -> bool {
        // a reset is an end as well
        self.stream.read_buf(&mut self.read).await.unwrap_or(0) > 0
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}
