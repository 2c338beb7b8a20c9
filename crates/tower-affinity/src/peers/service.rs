//! The service inside of [`PeerForwardLayer`](super::PeerForwardLayer).

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_affinity_core::GroupName;
use tower_service::Service;

use super::future::ResponseFuture;
use super::sending::{Sending, Underway};
use crate::assign::FromPeer;
use crate::balance::{BalanceBody, Connect, GroupBalance, ReplayBody};
use crate::problem::{NOT_SET_UP, Problem, misdirected};
use crate::record::PeerOutcome;
use crate::wire::Unmarked;
use crate::{Affinity, BoxError, tag};

/// Takes a request to the local service or to a peer; see the [module](super).
#[derive(Clone)]
pub struct PeerForward<S, C> {
    local: S,
    balance: GroupBalance<C>,
    sending: Arc<Sending>,
}

impl<S, C> PeerForward<S, C> {
    pub(super) fn new(local: S, balance: GroupBalance<C>, sending: Arc<Sending>) -> Self {
        Self {
            local,
            balance,
            sending,
        }
    }

    /// The decision and its group, if that is another than this process's own. What a peer has sent
    /// is for this process, as the layer outside has made sure.
    fn elsewhere<B>(&self, request: &Request<B>) -> Option<(Affinity, GroupName)> {
        let affinity: &Affinity = request.extensions().get()?;
        let group = affinity.decision().group.as_ref()?.name();
        (*group != self.sending.group).then(|| (affinity.clone(), group.clone()))
    }
}

impl<S, C, B, L, R> Service<Request<B>> for PeerForward<S, C>
where
    S: Service<Request<B>, Response = Response<L>>,
    L: From<Bytes> + From<BalanceBody<R>>,
    B: Body<Data = Bytes>,
    C: Connect<ReplayBody<B>> + Clone,
    C::Service: Service<Request<ReplayBody<B>>, Response = Response<R>>,
    <C::Service as Service<Request<ReplayBody<B>>>>::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, C, B, L>;

    /// The local service's: peers are always ready to be asked.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.local.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let Some((affinity, group)) = self.elsewhere(&request) else {
            if request.extensions().get::<FromPeer>().is_none() {
                // what a peer has set is believed, and nobody else can say such a thing
                tag::remove_spoofed(request.headers_mut());
                let sending = &self.sending;
                sending.recorder.peer(&sending.group, PeerOutcome::Local);
            }
            return ResponseFuture::local(self.local.call(request));
        };
        if request.extensions().get::<Unmarked>().is_some() {
            // it has come over one hop already
            let recorder = &self.sending.recorder;
            recorder.peer(&self.sending.group, PeerOutcome::Misdirected);
            return ResponseFuture::answered(misdirected());
        }
        let mut underway = Underway::new(Arc::clone(&self.sending), group);
        if self.sending.prepare(&mut request, &affinity).is_none() {
            tracing::error!("no key of the ring can mark a request for a peer");
            underway.end(PeerOutcome::Failed);
            return ResponseFuture::answered(Problem::Internal.response(NOT_SET_UP));
        }
        ResponseFuture::forwarded(self.balance.call(request), underway)
    }
}

impl<S: fmt::Debug, C> fmt::Debug for PeerForward<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerForward")
            .field("local", &self.local)
            .field("group", &self.sending.group)
            .field("balance", &self.balance)
            .finish()
    }
}
