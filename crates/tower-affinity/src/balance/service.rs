//! The service [`GroupBalance`].

use std::fmt;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::attempt::Attempt;
use super::body::BalanceBody;
use super::connect::Connect;
use super::error::{Error, Unserved};
use super::future::ResponseFuture;
use super::groups::Groups;
use super::lease::Lease;
use super::replay::ReplayBody;
use super::retries::Retries;
use super::retry::Plan;
use super::wanted::Wanted;
use crate::BoxError;
use crate::record::Recorder;
use crate::rollouts::Rollouts;

/// Takes a request to an endpoint of the group that was decided; see the [module](super).
///
/// It is `Send` and `Sync` exactly when `C` is.
#[derive(Clone)]
pub struct GroupBalance<C> {
    groups: Groups,
    connect: C,
    recorder: Recorder,
    retries: Retries,
    rollouts: Option<Rollouts>,
}

impl<C> GroupBalance<C> {
    /// Picks from `groups`; `connect` gives the service that speaks to the picked endpoint.
    pub fn new(groups: Groups, connect: C) -> Self {
        Self {
            groups,
            connect,
            recorder: Recorder::default(),
            retries: Retries::default(),
            rollouts: None,
        }
    }

    /// What counts further attempts, and endpoints that turn out to serve another group.
    #[must_use]
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// How often a request is sent again; see [`Retries`] for the defaults.
    #[must_use]
    pub fn retries(self, retries: Retries) -> Self {
        Self { retries, ..self }
    }

    /// Where to ask, before a request is sent again, whether its group was aborted in the
    /// meantime. Without it, that is not asked.
    #[must_use]
    pub fn rollouts(self, rollouts: impl Into<Rollouts>) -> Self {
        let rollouts = Some(rollouts.into());
        Self { rollouts, ..self }
    }

    fn acquire<B>(&self, request: &Request<B>) -> Result<Lease, Unserved> {
        let wanted = Wanted::of(request.extensions()).ok_or(Unserved::NoDecision)?;
        self.groups.acquire(&wanted)
    }
}

impl<C, B, R> Service<Request<B>> for GroupBalance<C>
where
    B: Body<Data = Bytes>,
    C: Connect<ReplayBody<B>> + Clone,
    C::Service: Service<Request<ReplayBody<B>>, Response = Response<R>>,
    <C::Service as Service<Request<ReplayBody<B>>>>::Error: Into<BoxError>,
{
    type Response = Response<BalanceBody<R>>;
    type Error = Error;
    type Future = ResponseFuture<C, B>;

    /// Always ready: which endpoint is asked is known only with the request.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let lease = match self.acquire(&request) {
            Ok(lease) => lease,
            Err(unserved) => return ResponseFuture::unserved(unserved),
        };
        let (again, request) = if self.retries.are_none() {
            (None, request.map(ReplayBody::once))
        } else {
            let now = self.groups.now();
            lease.budget().request(now);
            let (retries, rollouts) = (self.retries, self.rollouts.clone());
            let (plan, request) = Plan::begin(request, retries, rollouts, now);
            (Some((plan, self.connect.clone())), request)
        };
        let attempt = Attempt::new(lease, self.groups.clone(), self.recorder.clone());
        ResponseFuture::begin(&self.connect, request, attempt, again)
    }
}

impl<C> fmt::Debug for GroupBalance<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupBalance")
            .field("groups", &self.groups)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}
