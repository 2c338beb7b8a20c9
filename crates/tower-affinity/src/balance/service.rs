//! The service [`GroupBalance`].

use std::fmt;
use std::sync::Arc;
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
use super::settings::{Settings, Shared};
use super::wanted::Wanted;
use crate::BoxError;
use crate::record::Recorder;
use crate::rollouts::Rollouts;

/// Takes a request to an endpoint of the group that was decided; see the [module](super).
///
/// It is `Send` and `Sync` when `C` is both. All clones share `C`.
pub struct GroupBalance<C>(Arc<Shared<C>>);

impl<C> GroupBalance<C> {
    /// Picks from `groups`; `connect` gives the service that speaks to the picked endpoint.
    pub fn new(groups: Groups, connect: C) -> Self {
        let settings = Settings {
            groups,
            recorder: Recorder::default(),
            retries: Retries::default(),
            rollouts: None,
        };
        let connect = Arc::new(connect);
        Self(Arc::new(Shared { settings, connect }))
    }

    /// What counts further attempts, and endpoints that turn out to serve another group.
    #[must_use]
    pub fn recorder(self, recorder: Recorder) -> Self {
        self.with(|settings| settings.recorder = recorder)
    }

    /// How often a request is sent again; see [`Retries`] for the defaults.
    #[must_use]
    pub fn retries(self, retries: Retries) -> Self {
        self.with(|settings| settings.retries = retries)
    }

    /// Where to ask, before a request is sent again, whether its group was aborted in the
    /// meantime. Without it, that is not asked.
    #[must_use]
    pub fn rollouts(self, rollouts: impl Into<Rollouts>) -> Self {
        self.with(|settings| settings.rollouts = Some(rollouts.into()))
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut Arc::make_mut(&mut self.0).settings);
        self
    }

    fn acquire<B>(&self, request: &Request<B>) -> Result<Lease, Unserved> {
        let wanted = Wanted::of(request.extensions()).ok_or(Unserved::NoDecision)?;
        self.0.settings.groups.acquire(&wanted)
    }
}

impl<C, B, R> Service<Request<B>> for GroupBalance<C>
where
    B: Body<Data = Bytes>,
    C: Connect<ReplayBody<B>>,
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
            Err(unserved) => return ResponseFuture::unserved(Arc::clone(&self.0), unserved),
        };
        let Settings {
            groups, retries, ..
        } = &self.0.settings;
        let (mut head, body) = request.into_parts();
        let (again, body) = if retries.are_none() {
            (None, ReplayBody::once(body))
        } else {
            let now = groups.now();
            lease.budget().request(now);
            let (plan, body) = Plan::begin(&mut head, body, retries, now);
            (Some(plan), body)
        };
        let request = Request::from_parts(head, body);
        ResponseFuture::begin(Arc::clone(&self.0), request, Attempt::new(lease), again)
    }
}

impl<C> Clone for GroupBalance<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> fmt::Debug for GroupBalance<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupBalance")
            .field("groups", &self.0.settings.groups)
            .field("retries", &self.0.settings.retries)
            .finish_non_exhaustive()
    }
}
