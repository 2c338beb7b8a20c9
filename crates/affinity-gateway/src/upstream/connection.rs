//! One connection over HTTP/1.1, driven by the exchange that has it.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
};

use http::{Request, Response};
use http_body::Body;
use hyper::{
    body::Incoming,
    client::conn::{
        TrySendError,
        http1::{self, SendRequest},
    },
};
use hyper_util::rt::TokioIo;
use tokio::{task::coop::has_budget_remaining, time::Instant};
use tokio_util::sync::ReusableBoxFuture;

use super::{
    idle::Idle,
    link::{Broken, Head, Link},
    relay::Relay,
    slot::Slot,
    stream::Stream,
    timer::Timer,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection and all that is kept with it from one exchange to the next.
///
/// It has no task of its own: who waits for the answer drives it, so that an answer costs one wake
/// and not three.
pub(super) struct Connection<B> {
    sender: SendRequest<B>,
    /// `None` once it has ended.
    driver: Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>,
    /// The place of the wait for an answer, kept so that it is not allocated for each.
    answer: ReusableBoxFuture<'static, Answered<B>>,
    relay: Arc<Relay>,
    /// That of the relay.
    waker: Waker,
    timer: Timer,
    home: Weak<Idle<B>>,
    /// While it has an exchange: who has another connection, should this one turn out to be over.
    slot: Option<Arc<Slot<B>>>,
    /// Whether it has had an exchange before.
    used: bool,
    /// Whether the present exchange sends a body.
    uploads: bool,
    /// Since when it is unused, if it is.
    since: Instant,
    unsent: Option<Request<B>>,
}

type Answered<B> = Result<Response<Incoming>, TrySendError<Request<B>>>;

impl<B> Connection<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    /// Speaks HTTP over `stream`; between exchanges it is kept in `home`.
    pub(super) async fn open(stream: Stream, home: &Arc<Idle<B>>) -> hyper::Result<Box<Self>> {
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        let relay = Arc::new(Relay::new(home.stirred()));
        Ok(Box::new(Self {
            sender,
            driver: Some(Box::pin(driver.with_upgrades())),
            answer: ReusableBoxFuture::new(std::future::pending()),
            waker: Arc::clone(&relay).into(),
            relay,
            timer: Timer::default(),
            home: Arc::downgrade(home),
            slot: None,
            used: false,
            uploads: false,
            since: Instant::now(),
            unsent: None,
        }))
    }

    /// Takes a request, which goes out when the connection is driven.
    pub(super) fn send(&mut self, slot: Arc<Slot<B>>, request: Request<B>) {
        self.relay.resume();
        self.slot = Some(slot);
        self.uploads = !request.body().is_end_stream();
        self.answer.set(self.sender.try_send_request(request));
    }

    /// What has come for an unused connection, if anything has: it was closed, or an answer that
    /// nobody asked for, after which it must not be used either.
    pub(super) fn is_over(&mut self) -> bool {
        if self.relay.is_woken() {
            self.drive();
        }
        !self.is_open()
    }

    /// Keeps a connection that was opened for nothing.
    pub(super) fn keep(mut self: Box<Self>) {
        // only one that was driven once knows that it is free
        self.drive();
        if self.is_free() {
            self.give_back();
        }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }
}

impl<B> Link for Connection<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<Incoming>, Broken>> {
        self.drive();
        // only the driver answers, and it was just asked
        let answered = self.answer.poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(answered) = answered else {
            self.wait(cx.waker());
            return Poll::Pending;
        };
        Poll::Ready(answered.map_err(|mut failed| {
            self.unsent = failed.take_message().filter(|_| self.used);
            match self.unsent {
                Some(_) => Broken::Unsent,
                None => Broken::Lost(failed.into_error().into()),
            }
        }))
    }

    fn drive(&mut self) {
        self.relay.begin();
        let Some(driver) = &mut self.driver else {
            return;
        };
        let ended = driver.as_mut().poll(&mut Context::from_waker(&self.waker));
        if let Poll::Ready(ended) = ended {
            // with it goes a request that it has not begun to send: it is handed back
            self.driver = None;
            if let Err(error) = ended {
                tracing::debug!(%error, "connection to an endpoint ended");
            }
        }
    }

    fn wait(&self, waker: &Waker) {
        self.relay.wait(waker);
    }

    fn poll_until(&mut self, until: Instant) -> Poll<()> {
        if self.timer.wakes_by(until) {
            return Poll::Pending;
        }
        let mut cx = Context::from_waker(&self.waker);
        self.timer.poll(until, &mut cx)
    }

    fn is_free(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }

    fn is_open(&self) -> bool {
        self.driver.is_some()
    }

    fn give_back(mut self: Box<Self>) {
        let Some(home) = self.home.upgrade() else {
            return;
        };
        self.slot = None;
        self.used = true;
        self.since = Instant::now();
        // What came up since it was last driven was most likely the piece of the answer that was
        // taken. If it was more, the next exchange finds out, or the end of the time unused; only
        // the end of an upload must not wait for that.
        self.relay.rest();
        let is_unsure = self.uploads || !has_budget_remaining();
        let stirred = is_unsure.then(|| self.waker.clone());
        home.keep(self);
        if let Some(waker) = stirred {
            waker.wake();
        }
    }

    fn run(mut self: Box<Self>) {
        tokio::spawn(async move {
            std::future::poll_fn(|cx| {
                self.drive();
                if self.is_free() || !self.is_open() {
                    return Poll::Ready(());
                }
                self.wait(cx.waker());
                Poll::Pending
            })
            .await;
            if self.is_free() {
                self.give_back();
            }
        });
    }

    fn again(mut self: Box<Self>) -> Head {
        let (slot, unsent) = (self.slot.take(), self.unsent.take());
        // closed before another one is opened
        drop(self);
        match (slot, unsent) {
            (Some(slot), Some(request)) => slot.send(Instant::now(), request),
            _ => Head::Gone,
        }
    }
}
