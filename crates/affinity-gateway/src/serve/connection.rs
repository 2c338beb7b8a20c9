//! One connection, from its first byte to its end.

use std::{
    convert::Infallible,
    error::Error,
    future::poll_fn,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Poll, ready},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::{io::AsyncRead, net::TcpStream};
use tower_service::Service;

use super::{
    ServeOptions,
    activity::Activity,
    asked::Asked,
    ended::{EndCause, Told, failed, refused},
    ending::{Ending, Word},
    framing::{Ahead, Framed, Gate, Heads, Language},
    heard::Heard,
    lifetime::{Lifetime, Order, Spans},
    patient::Patient,
    service::ConnectionService,
    spoken::{self, run},
    streams::Streams,
};
use crate::causes::with_causes;

type BoxError = Box<dyn Error + Send + Sync>;

/// What all connections of a listener share.
#[derive(Debug)]
pub(super) struct Protocol {
    options: ServeOptions,
}

impl Protocol {
    pub(super) fn new(options: ServeOptions) -> Self {
        Self { options }
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
        B: Body<Data = Bytes> + From<Bytes> + Send + 'static,
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
            biased;
            opened = options.transports.open(stream, peer, patience) => opened,
            () = ending.is_cut() => None,
        };
        let Some(opened) = opened else {
            return told.ended(match ending.word() {
                Word::Cut => EndCause::Cut,
                _ => EndCause::Transport,
            });
        };
        let heads = Heads {
            within: patience,
            bytes: limits.header_bytes(),
            fields: limits.max_headers,
            http2: limits.http2,
        };
        let activity = Activity::new(ending.clone());
        let stream = Patient::new(opened.stream, limits.body_timeout, activity.clone());
        let stream = Heard::new(stream, activity.clone());
        let mut stream = Framed::new(stream, gate.clone(), heads);
        let (early, events) = (&options.recorder, &options.connections);
        let service = ConnectionService::new(
            service,
            (opened.client, opened.scheme),
            gate.clone(),
            activity.clone(),
            Arc::clone(early),
            Arc::clone(events),
        );
        let service = Asked::new(service);
        let spans = Spans {
            keep_alive: limits.keep_alive,
            linger: options.linger,
            h2_idle: options.h2_idle,
            leave: limits.body_timeout,
        };
        let lifetime = Lifetime::new(activity.clone(), gate.clone(), spans, &ending);
        let mut lifetime = pin!(lifetime);
        let language = match language(&mut stream, lifetime.as_mut()).await {
            Ok(language) => language,
            Err(cause) => return told.ended(cause),
        };
        let io = TokioIo::new(Ahead::new(stream, gate.clone()));
        let served = match language {
            Language::Http1 => {
                lifetime.as_mut().http1();
                let connection = spoken::http1(&limits).serve_connection(io, service);
                run(pin!(connection.with_upgrades()), lifetime.as_mut()).await
            }
            Language::Http2 => {
                lifetime.as_mut().http2();
                let streams = Streams::new(limits.body_timeout, Arc::clone(events));
                let pings = (options.h2_ping_interval, options.h2_ping_timeout);
                let builder = spoken::http2(&limits, streams, pings);
                // boxed, so that a connection of HTTP/1.1 does not carry its room
                let mut connection = Box::pin(builder.serve_connection(io, service));
                run(connection.as_mut(), lifetime.as_mut()).await
            }
        };
        // Clients go away and send nonsense all the time: no event for the operator.
        if let Ok(Err(error)) = &served {
            let error = with_causes(error);
            tracing::debug!(error, "connection ended with an error");
        }
        told.ended(match served {
            Err(cause) => cause,
            _ if lifetime.is_leaving() => EndCause::Idle,
            _ if activity.is_stalled() => EndCause::WriteTimeout,
            _ if gate.is_late() => EndCause::HeaderTimeout,
            Ok(Err(error)) => failed(&error, matches!(language, Language::Http2)),
            Ok(Ok(())) => gate.fault().map_or(EndCause::Closed, refused),
        });
    }
}

/// What the client speaks, or why that is not waited for any longer.
async fn language<I: AsyncRead + Unpin>(
    stream: &mut Framed<I>,
    mut lifetime: Pin<&mut Lifetime<'_>>,
) -> Result<Language, EndCause> {
    poll_fn(|cx| {
        if let Poll::Ready(language) = stream.poll_language(cx) {
            return Poll::Ready(language.map_err(|error| failed(&error, false)));
        }
        Poll::Ready(Err(match ready!(lifetime.as_mut().poll_order(cx)) {
            // silent, so it has nothing to finish
            Order::Close => EndCause::Closed,
            Order::End(cause) => cause,
        }))
    })
    .await
}
