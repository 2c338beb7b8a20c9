//! A connection in the protocol that its client speaks.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::HttpService;
use hyper_util::rt::TokioTimer;

use super::Limits;
use super::ended::EndCause;
use super::lifetime::{Lifetime, Order};
use super::streams::Streams;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection that can be told to end.
pub(super) trait Spoken: Future<Output = hyper::Result<()>> {
    /// Tells the client that it ends, and finishes what runs.
    fn close(self: Pin<&mut Self>);
}

impl<I, S, B> Spoken for http1::UpgradeableConnection<I, S>
where
    I: Read + Write + Unpin + Send + 'static,
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<BoxError>,
{
    fn close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, S, B> Spoken for http2::Connection<I, S, Streams>
where
    I: Read + Write + Unpin,
    S: HttpService<Incoming, ResBody = B>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Serves to the end, by the connection itself or by the cause for which it is dropped.
pub(super) async fn run(
    mut connection: Pin<&mut impl Spoken>,
    mut lifetime: Pin<&mut Lifetime<'_>>,
) -> Result<hyper::Result<()>, EndCause> {
    poll_fn(|cx| {
        loop {
            if let Poll::Ready(served) = connection.as_mut().poll(cx) {
                return Poll::Ready(Ok(served));
            }
            match ready!(lifetime.as_mut().poll_order(cx)) {
                Order::Close => connection.as_mut().close(),
                Order::End(cause) => return Poll::Ready(Err(cause)),
            }
        }
    })
    .await
}

/// How HTTP/1.1 is served. Its times run elsewhere: those of heads in
/// [`Framed`](super::framing::Framed), that of silence in [`Lifetime`].
pub(super) fn http1(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // Flushing pipelined answers together is off, as hyper calls it experimental; interim
    // answers count on the flush behind each answer.
    builder
        .header_read_timeout(None)
        .max_buf_size(limits.header_bytes());
    if limits.max_headers != HYPERS_FIELDS {
        builder.max_headers(limits.max_headers);
    }
    builder
}

/// How HTTP/2 is served, with pings after so much silence that may take so long.
pub(super) fn http2(
    limits: &Limits,
    streams: Streams,
    (interval, timeout): (Duration, Duration),
) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(streams);
    builder
        .timer(TokioTimer::new())
        // WebSockets over HTTP/2 (RFC 8441).
        .enable_connect_protocol()
        .max_header_list_size(limits.h2_header_list())
        .max_concurrent_streams(limits.max_streams)
        .max_pending_accept_reset_streams(PENDING_RESETS)
        .max_local_error_reset_streams(OWN_RESETS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(interval)
        .keep_alive_timeout(timeout);
    builder
}

/// So many fields hyper reads without a setting, and with less work.
const HYPERS_FIELDS: usize = 100;

/// Streams that were reset before they were looked at; one more ends the connection. h2's default.
const PENDING_RESETS: usize = 20;
/// Streams that were reset because of what the client sent, over the life of a connection; one more
/// ends it. h2's default.
const OWN_RESETS: usize = 1024;
/// What a client may send of one body before anybody reads it.
const STREAM_WINDOW: u32 = 512 * 1024;
/// As [`STREAM_WINDOW`], of all bodies of a connection together: this much of them is held at most.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// The protocol's least.
const FRAME: u32 = 16 * 1024;
/// What is held of one answer while the client takes nothing.
const SEND_BUFFER: usize = 64 * 1024;
