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
use super::settings::Settings;
use super::wanted::Wanted;
use crate::BoxError;
use crate::record::Recorder;
use crate::rollouts::Rollouts;

/// Takes a request to an endpoint of the group that was decided; see the [module](super).
///
/// It is `Send` and `Sync` exactly when `C` is.
#[derive(Clone)]
pub struct GroupBalance<C> {
    settings: Arc<Settings>,
    // not shared: it may stay on one thread
    connect: C,
}

impl<C> GroupBalance<C> {
    /// Picks from `groups`; `connect` gives the service that speaks to the picked endpoint.
    pub fn new(groups: Groups, connect: C) -> Self {
        let settings = Settings {
            groups,
            recorder: Recorder::default(),
            retries: Retries::default(),
            rollouts: None,
        };
        Self {
            settings: Arc::new(settings),
            connect,
        }
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
        change(Arc::make_mut(&mut self.settings));
        self
    }

    fn acquire<B>(&self, request: &Request<B>) -> Result<Lease, Unserved> {
        let wanted = Wanted::of(request.extensions()).ok_or(Unserved::NoDecision)?;
        self.settings.groups.acquire(&wanted)
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
        let (again, request) = if self.settings.retries.are_none() {
            (None, request.map(ReplayBody::once))
        } else {
            let now = self.settings.groups.now();
            lease.budget().request(now);
            let (plan, request) = Plan::begin(request, &self.settings.retries, now);
            (Some((plan, self.connect.clone())), request)
        };
        let attempt = Attempt::new(lease, Arc::clone(&self.settings));
        ResponseFuture::begin(&self.connect, request, attempt, again)
    }
}

impl<C> fmt::Debug for GroupBalance<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupBalance")
            .field("groups", &self.settings.groups)
            .field("retries", &self.settings.retries)
            .finish_non_exhaustive()
    }
}
