//! What an exchange and the body of its answer ask of the connection that carries them.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use http::Response;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::{UpstreamError, shared::Place, timer::Timer};

/// A connection with an exchange on it, whatever the body of the request is.
///
/// Nobody else drives it: it goes on only when it is polled here.
pub(super) trait Link: Send {
    /// The head of the answer; not to be asked for again once it was there.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<Incoming>, Broken>>;

    /// Sends and receives what can be sent and received now.
    fn drive(&mut self);

    /// Has `waker` woken once there is more to do than the last call has done.
    fn wait(&self, waker: &Waker);

    /// Waits for a moment; who waits is woken as [`wait`](Self::wait) says.
    fn poll_until(&mut self, until: Instant) -> Poll<()>;

    /// Whether the exchange is over and left the connection fit for another one.
    fn is_free(&self) -> bool;

    /// Whether the connection is open still.
    fn is_open(&self) -> bool;

    /// Keeps a free connection for another exchange.
    fn give_back(self: Box<Self>);

    /// Has a task drive it until it is free, and gives it back then.
    fn run(self: Box<Self>);

    /// Another connection for the request that this one has handed back.
    fn again(self: Box<Self>) -> Head;
}

/// Why there is no head of an answer.
#[derive(Debug)]
pub(super) enum Broken {
    /// The connection was over before it took anything of the request, and holds it.
    Unsent,
    /// Nothing is left of the request.
    Lost(UpstreamError),
}

/// The wait for the head of an answer.
pub(super) enum Head {
    /// On its connection.
    Sent(Box<dyn Link>),
    /// It is not sent yet, or over a connection that others share.
    Apart {
        coming: Pin<Box<dyn Future<Output = Result<Come, UpstreamError>> + Send>>,
        timer: Timer,
    },
    /// Somebody has it.
    Gone,
}

/// What a [`Head::Apart`] comes to.
pub(super) enum Come {
    /// The connection to which the request was given.
    Link(Box<dyn Link>),
    /// The answer, whose body somebody else drives.
    Answer(Response<Incoming>, Place),
}

impl Head {
    pub(super) fn apart(
        coming: impl Future<Output = Result<Come, UpstreamError>> + Send + 'static,
    ) -> Self {
        Self::Apart {
            coming: Box::pin(coming),
            timer: Timer::default(),
        }
    }
}
