//! One connection, from its first byte to its end.

use std::{convert::Infallible, net::SocketAddr, pin::pin, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::{
    Limits, ServeOptions,
    activity::Activity,
    ended::{EndCause, Told, failed, refused},
    framing::{Ahead, Framed, Gate, Gated, Heads},
    heard::Heard,
    patient::Patient,
    peer::WithPeer,
    polite::Polite,
    streams::Streams,
};
use crate::causes::with_causes;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What all connections of a listener share.
#[derive(Debug)]
pub(super) struct Protocol {
    options: ServeOptions,
}

/// What ends connections from outside.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Finish what runs, begin nothing.
    pub(super) finish: CancellationToken,
    /// Stop now.
    pub(super) cut: CancellationToken,
}

impl Protocol {
    pub(super) fn new(options: ServeOptions) -> Self {
        Self { options }
    }

    fn builder(&self, limits: &Limits) -> Builder<Streams> {
        let recorder = Arc::clone(&self.options.connections);
        let mut builder = Builder::new(Streams::new(limits.body_timeout, recorder));
        if !limits.http2 {
            builder = builder.http1_only();
        }
        // Flushing pipelined answers together is off, as hyper calls it experimental; interim
        // answers count on the flush behind each answer.
        builder
            .http1()
            .timer(TokioTimer::new())
            // One timer for silence and head; the head's own runs in `Framed`.
            .header_read_timeout(limits.keep_alive.max(limits.header_timeout))
            .max_headers(limits.max_headers)
            .max_buf_size(limits.header_bytes());
        builder
            .http2()
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
            .keep_alive_interval(self.options.h2_ping_interval)
            .keep_alive_timeout(self.options.h2_ping_timeout);
        builder
    }

    /// Serves `stream` until it closes, or `ending` says so.
    ///
    /// A panic of the service ends at most this connection (HTTP/1.1) or stream (HTTP/2).
    pub(super) async fn serve<S, B>(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        service: S,
        ending: Ending,
    ) where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let told = Told::opened(Arc::clone(&self.options.connections));
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "connection lost before its first byte");
            return told.ended(EndCause::Aborted);
        }
        let (options, gate) = (&self.options, Gate::default());
        let limits = options.limits.present();
        let patience = limits.header_timeout;
        // At the shutdown a handshake still ends, as a request in flight does.
        let opened = tokio::select! {
            opened = options.transports.open(stream, peer, patience) => opened,
            () = ending.cut.cancelled() => None,
        };
        let Some(opened) = opened else {
            return told.ended(match ending.cut.is_cancelled() {
                true => EndCause::Cut,
                false => EndCause::Transport,
            });
        };
        let builder = self.builder(&limits);
        let heads = Heads {
            within: patience,
            bytes: limits.header_bytes(),
            fields: limits.max_headers,
            http2: limits.http2,
        };
        let activity = Activity::default();
        let stream = Patient::new(opened.stream, limits.body_timeout, activity.clone());
        let stream = Heard::new(stream, activity.clone());
        let stream = Framed::new(stream, gate.clone(), heads);
        let io = TokioIo::new(Ahead::new(stream, gate.clone()));
        let (early, events) = (&options.recorder, &options.connections);
        let service = Gated::new(service, gate.clone(), Arc::clone(early), Arc::clone(events));
        let service = WithPeer::new(service, opened.client, opened.scheme);
        let service = Polite::new(service, activity.clone(), ending.finish.clone());
        let service = TowerToHyperService::new(service);
        let mut connection = pin!(builder.serve_connection_with_upgrades(io, service));
        let end = async {
            ending.finish.cancelled().await;
            self.last_request(&activity).await;
        };
        let served = tokio::select! {
            biased;
            served = connection.as_mut() => served,
            () = ending.cut.cancelled() => return told.ended(EndCause::Cut),
            () = end => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    served = connection => served,
                    () = ending.cut.cancelled() => return told.ended(EndCause::Cut),
                }
            }
            () = activity.idles(options.h2_idle) => {
                connection.as_mut().graceful_shutdown();
                // what a client does not take then was never to be taken
                tokio::select! {
                    _ = connection => {}
                    () = tokio::time::sleep(limits.body_timeout) => {}
                    () = ending.cut.cancelled() => return told.ended(EndCause::Cut),
                }
                return told.ended(EndCause::Idle);
            }
        };
        // Clients go away and send nonsense all the time: no event for the operator.
        if let Err(error) = &served {
            let error = with_causes(&**error);
            tracing::debug!(error, "connection ended with an error");
        }
        told.ended(match served {
            _ if activity.is_stalled() => EndCause::WriteTimeout,
            Err(error) => failed(&*error, activity.is_multiplexed()),
            Ok(()) => gate.fault().map_or(EndCause::Closed, refused),
        });
    }

    /// Waits until a connection that is to end can be told so without the loss of a request.
    ///
    /// HTTP/2 has a frame that says which requests still count. On HTTP/1.1 only an answer says
    /// that it was the last one; a connection without any is closed once it has been silent for so
    /// long that no request can be under way. One whose protocol nobody knows yet is like that.
    async fn last_request(&self, activity: &Activity) {
        let silence = async {
            loop {
                let mark = activity.mark();
                tokio::time::sleep(self.options.linger).await;
                if activity.is_silent_since(mark) {
                    return;
                }
            }
        };
        tokio::select! {
            () = activity.multiplexes() => {}
            () = silence => {}
        }
    }
}

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
