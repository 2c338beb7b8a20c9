//! What a service that speaks to an endpoint is given of a request's extensions.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::Empty;
use tower::{Service, ServiceExt};

use super::super::{Again, Connect, Endpoint, GroupBalance, Lease, ReplayBody, Retries};
use super::{groups, pinned};
use crate::respond::UpstreamFault;

type Sent = ReplayBody<Empty<Bytes>>;

/// What one attempt was given.
#[derive(Debug, PartialEq, Eq)]
struct Given {
    mark: Option<u8>,
    nth: Option<u32>,
    borrowed: bool,
    /// How many extensions the request came with.
    with: usize,
}

/// Reads the extensions, and hands none of them on; the first attempts fail with `faults`.
#[derive(Clone, Default)]
struct Reads {
    faults: Arc<Mutex<VecDeque<UpstreamFault>>>,
    given: Arc<Mutex<Vec<Given>>>,
}

impl Connect<Sent> for Reads {
    type Service = Self;

    fn connect(&self, _: &Arc<Endpoint>) -> Self {
        self.clone()
    }

    fn attempt(&self, lease: &Lease, extensions: Cow<'_, Extensions>) -> (Self, Extensions) {
        self.given.lock().unwrap().push(Given {
            mark: extensions.get().copied(),
            nth: extensions.get().map(|again: &Again| again.attempts),
            borrowed: matches!(extensions, Cow::Borrowed(_)),
            with: usize::MAX,
        });
        (self.connect(lease.endpoint()), Extensions::new())
    }
}

impl Service<Request<Sent>> for Reads {
    type Response = Response<Empty<Bytes>>;
    type Error = UpstreamFault;
    type Future = Ready<Result<Self::Response, UpstreamFault>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), UpstreamFault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Sent>) -> Self::Future {
        if let Some(given) = self.given.lock().unwrap().last_mut() {
            given.with = request.extensions().len();
        }
        let fault = self.faults.lock().unwrap().pop_front();
        ready(fault.map_or_else(|| Ok(Response::new(Empty::new())), Err))
    }
}

async fn given(retries: Retries, faults: &[UpstreamFault]) -> Vec<Given> {
    let connect = Reads::default();
    connect.faults.lock().unwrap().extend(faults);
    let balance = GroupBalance::new(groups(&[("a", 4)]), connect.clone()).retries(retries);
    let mut request = pinned("a");
    request.extensions_mut().insert(7_u8);
    balance.oneshot(request).await.unwrap();
    std::mem::take(&mut *connect.given.lock().unwrap())
}

#[tokio::test]
async fn each_attempt_reads_all_extensions_and_takes_those_that_it_wants() {
    let first = Given {
        mark: Some(7),
        nth: None,
        borrowed: true,
        with: 0,
    };
    let second = Given {
        nth: Some(1),
        borrowed: false,
        ..first
    };
    let faults = [UpstreamFault::Connect];
    assert_eq!(given(Retries::new(), &faults).await, [first, second]);
}

#[tokio::test]
async fn an_only_attempt_owns_the_extensions() {
    let only = Given {
        mark: Some(7),
        nth: None,
        borrowed: false,
        with: 0,
    };
    assert_eq!(given(Retries::none(), &[]).await, [only]);
}
