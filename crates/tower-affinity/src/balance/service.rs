//! The service [`GroupBalance`].

use std::fmt;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_affinity_core::Kind;
use tower_service::Service;

use super::body::BalanceBody;
use super::connect::Connect;
use super::error::{Error, Unserved};
use super::future::ResponseFuture;
use super::groups::Groups;
use super::wanted::Wanted;
use crate::record::Recorder;
use crate::{Affinity, BoxError};

/// Takes a request to an endpoint of the group that was decided; see the [module](super).
///
/// It is `Send` and `Sync` exactly when `C` is.
#[derive(Clone)]
pub struct GroupBalance<C> {
    groups: Groups,
    connect: C,
    recorder: Recorder,
}

impl<C> GroupBalance<C> {
    /// Picks from `groups`; `connect` gives the service that speaks to the picked endpoint.
    pub fn new(groups: Groups, connect: C) -> Self {
        Self {
            groups,
            connect,
            recorder: Recorder::default(),
        }
    }

    /// What counts endpoints that turn out to serve another group.
    #[must_use]
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }
}

impl<C, B, R> Service<Request<B>> for GroupBalance<C>
where
    C: Connect<B>,
    C::Service: Service<Request<B>, Response = Response<R>>,
    <C::Service as Service<Request<B>>>::Error: Into<BoxError>,
{
    type Response = Response<BalanceBody<R>>;
    type Error = Error;
    type Future = ResponseFuture<C::Service, B>;

    /// Always ready: which endpoint is asked is known only with the request.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let decision = request.extensions().get().map(Affinity::decision);
        let wanted = decision.and_then(|decision| {
            Some(Wanted {
                id: decision.group.as_ref()?,
                pinned: decision.kind == Kind::Pinned,
                avoid: &[],
            })
        });
        let lease = match wanted {
            Some(wanted) => self.groups.acquire(&wanted),
            None => Err(Unserved::NoDecision),
        };
        match lease {
            Ok(lease) => {
                request.extensions_mut().insert(lease.clone());
                let service = self.connect.connect(lease.endpoint());
                let (groups, recorder) = (self.groups.clone(), self.recorder.clone());
                ResponseFuture::new(service, request, lease, groups, recorder)
            }
            Err(unserved) => ResponseFuture::unserved(unserved),
        }
    }
}

impl<C> fmt::Debug for GroupBalance<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupBalance")
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}
