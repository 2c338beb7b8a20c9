//! The layer and its settings.

use std::{fmt, sync::Arc};

use http::StatusCode;
use ipnet::IpNet;
use tower_layer::Layer;

use super::{Edge, Requests};
use crate::trust::TrustedProxies;

/// Is told of each request that the edge answered: decision `refused`, cause `early`.
///
/// Called once per request, before its answer is sent; it should not block. Any
/// `Fn(StatusCode)` is one.
pub trait EarlyRecorder: Send + Sync + 'static {
    /// A request was answered with `status`.
    fn refused(&self, status: StatusCode);
}

impl<F> EarlyRecorder for F
where
    F: Fn(StatusCode) + Send + Sync + 'static,
{
    fn refused(&self, status: StatusCode) {
        self(status);
    }
}

/// Refuses what no endpoint should see; see the [module](super).
#[derive(Clone)]
#[must_use]
pub struct EdgeLayer {
    pub(super) max_target: usize,
    pub(super) max_requests: usize,
    pub(super) requests: Requests,
    pub(super) trusted_proxies: TrustedProxies,
    pub(super) recorder: Arc<dyn EarlyRecorder>,
}

impl EdgeLayer {
    /// Targets up to 8 KiB, 65,536 requests in flight, no proxy is trusted, and nobody is told of refusals.
    pub fn new() -> Self {
        Self {
            max_target: 8 * 1024,
            max_requests: 65_536,
            requests: Requests::default(),
            trusted_proxies: TrustedProxies::default(),
            recorder: Arc::new(|_: StatusCode| {}),
        }
    }

    /// 8 KiB by default: the longest path with query, in bytes; beyond it the answer is 414.
    pub fn max_target(mut self, bytes: usize) -> Self {
        self.max_target = bytes;
        self
    }

    /// 65,536 by default: how many requests may be in flight, from their head until their answer's
    /// body is dropped; beyond it the answer is 503 with the type `overloaded`. Tunnels do not
    /// count once they are open.
    pub fn max_requests(mut self, count: usize) -> Self {
        self.max_requests = count;
        self
    }

    /// A count of its own by default: what counts the requests in flight.
    pub fn requests(mut self, requests: Requests) -> Self {
        self.requests = requests;
        self
    }

    /// None by default: the networks of the proxies in front. For requests that come from them the
    /// client that `X-Forwarded-For` names becomes the [`ClientAddr`](tower_affinity::ClientAddr)
    /// of the request.
    pub fn trusted_proxies(mut self, networks: impl IntoIterator<Item = IpNet>) -> Self {
        self.trusted_proxies = networks.into_iter().collect();
        self
    }

    /// Nobody by default: who counts the refusals.
    pub fn recorder(mut self, recorder: impl EarlyRecorder) -> Self {
        self.recorder = Arc::new(recorder);
        self
    }
}

impl Default for EdgeLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for EdgeLayer {
    type Service = Edge<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Edge::new(inner, self.clone())
    }
}

impl fmt::Debug for EdgeLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeLayer")
            .field("max_target", &self.max_target)
            .field("max_requests", &self.max_requests)
            .field("requests", &self.requests)
            .field("trusted_proxies", &self.trusted_proxies)
            .finish_non_exhaustive()
    }
}
