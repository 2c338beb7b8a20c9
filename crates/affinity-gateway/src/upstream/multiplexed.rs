//! HTTP/2 connections to endpoints: few for each address, with many exchanges on each.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{Method, Request};
use http_body::Body;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError,
    dial::Dialer,
    error::unopened,
    link::Come,
    shared::{Connection, Place, Word},
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// All connections, by address. A clone is another handle to the same ones.
pub(super) struct Multiplexed<B>(Arc<Inner<B>>);

struct Inner<B> {
    dialer: Dialer,
    builder: http2::Builder<TokioExecutor>,
    /// How long an endpoint may take to say whether it takes extended CONNECT.
    patience: Duration,
    slots: Mutex<HashMap<SocketAddr, Arc<Slot<B>>>>,
}

/// The connections to one address.
struct Slot<B> {
    open: Mutex<Vec<Connection<B>>>,
    /// Held while a connection is opened, so that those who wait share it.
    opening: tokio::sync::Mutex<()>,
    /// How many openings failed: those who waited share the failure as well.
    failures: AtomicU64,
}

impl<B> Multiplexed<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    pub(super) fn new(dialer: Dialer, patience: Duration) -> Self {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEADER_LIST)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        Self(Arc::new(Inner {
            dialer,
            builder,
            patience,
            slots: Mutex::default(),
        }))
    }

    /// Sends a request over a connection that has room for it. One that its connection hands back
    /// unsent, as when it has just been closed, is sent once more over another.
    pub(super) fn send(
        &self,
        address: SocketAddr,
        mut request: Request<B>,
    ) -> impl Future<Output = Result<Come, UpstreamError>> + Send + use<B> {
        let connections = self.clone();
        async move {
            let mut again = true;
            loop {
                let (mut sender, place) = connections.place(address).await?;
                if request.method() == Method::CONNECT
                    && !place.takes_connect(connections.0.patience).await
                {
                    return Err(UpstreamError::new(UpstreamFault::Declined));
                }
                let mut failed = match sender.try_send_request(request).await {
                    Ok(response) => {
                        place.answered();
                        return Ok(Come::Answer(response, place));
                    }
                    Err(failed) => failed,
                };
                match failed.take_message() {
                    Some(unsent) if again => request = unsent,
                    Some(_) => {
                        let error = failed.into_error();
                        return Err(UpstreamError::caused(UpstreamFault::Unsent, error));
                    }
                    None => return Err(failed.into_error().into()),
                }
                again = false;
            }
        }
    }

    /// A place on an open connection, or on one that is opened for it.
    async fn place(
        &self,
        address: SocketAddr,
    ) -> Result<(http2::SendRequest<B>, Place), UpstreamError> {
        let slot = Arc::clone(self.slots().entry(address).or_default());
        if let Some(found) = slot.find() {
            return Ok(found);
        }
        let failures = slot.failures.load(Ordering::Acquire);
        let _turn = slot.opening.lock().await;
        if let Some(found) = slot.find() {
            return Ok(found);
        }
        if slot.failures.load(Ordering::Acquire) != failures {
            return Err(UpstreamError::new(UpstreamFault::Connect));
        }
        match self.open(address, &slot).await {
            Ok(place) => Ok(place),
            Err(error) => {
                let fault = unopened(&*error);
                if fault == UpstreamFault::Connect {
                    slot.failures.fetch_add(1, Ordering::Release);
                }
                Err(UpstreamError::caused(fault, error))
            }
        }
    }

    async fn open(
        &self,
        address: SocketAddr,
        slot: &Arc<Slot<B>>,
    ) -> Result<(http2::SendRequest<B>, Place), BoxError> {
        let stream = self.0.dialer.dial(address).await?;
        let (sender, mut driver) = self.0.builder.handshake(TokioIo::new(stream)).await?;
        let word = Arc::new(Word::default());
        let connection = Connection::new(sender, Arc::clone(&word));
        let found = connection.place();
        slot.open().push(connection);

        let (connections, slot) = (self.clone(), Arc::downgrade(slot));
        tokio::spawn(async move {
            let mut idle = tokio::time::interval(IDLE);
            idle.tick().await;
            let mut was_idle = false;
            loop {
                let ended = std::future::poll_fn(|cx| {
                    let ended = Pin::new(&mut driver).poll(cx);
                    word.hear(
                        driver.current_max_send_streams(),
                        driver.is_extended_connect_protocol_enabled(),
                    );
                    ended
                });
                tokio::select! {
                    ended = ended => {
                        if let Err(error) = ended {
                            tracing::debug!(%error, "connection to an endpoint ended");
                        }
                        break;
                    }
                    () = word.asked() => {}
                    _ = idle.tick() => {
                        let is_idle = word.is_idle();
                        if is_idle && was_idle && let Some(slot) = slot.upgrade() {
                            // without a sender it ends in good order
                            slot.forget(&word);
                        }
                        was_idle = is_idle;
                    }
                }
            }
            if let Some(slot) = slot.upgrade() {
                slot.forget(&word);
            }
            connections.tidy();
        });
        Ok(found)
    }

    /// Addresses without a connection are forgotten, unless somebody is about to open one.
    fn tidy(&self) {
        self.slots()
            .retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.open().is_empty());
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SocketAddr, Arc<Slot<B>>>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> Slot<B>
where
    B: Body + 'static,
{
    /// A place on the first connection that has one, so that those after it can become idle.
    fn find(&self) -> Option<(http2::SendRequest<B>, Place)> {
        let mut open = self.open();
        open.retain(|connection| !connection.is_closed());
        let free = open.iter().find(|connection| connection.has_room())?;
        Some(free.place())
    }

    fn forget(&self, word: &Arc<Word>) {
        self.open().retain(|connection| !connection.is(word));
    }

    fn open(&self) -> MutexGuard<'_, Vec<Connection<B>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> Default for Slot<B> {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            failures: AtomicU64::default(),
        }
    }
}

impl<B> Clone for Multiplexed<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B> fmt::Debug for Multiplexed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multiplexed").finish_non_exhaustive()
    }
}

/// A connection that was unused at two looks in a row is closed.
const IDLE: Duration = Duration::from_secs(30);
/// What one endpoint may have us hold of one answer, and of all answers on a connection.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 8 * 1024 * 1024;
/// As much as HTTP/1.1 heads may have.
const MAX_HEADER_LIST: u32 = 64 * 1024;
/// While exchanges are open; a peer that is gone without a word is noticed within both.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
