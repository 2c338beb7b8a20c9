//! One question to one endpoint.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Empty;
use tokio::time::timeout;
use tower::ServiceExt;
use tower_affinity::core::GroupName;

use crate::config::Health;
use crate::serve::Tunnels;
use crate::upstream::{Upstream, UpstreamOptions};

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A 2xx answer in time.
    Healthy,
    /// Another answer in time.
    Status,
    /// No answer in time.
    Timeout,
    /// No connection, or one that broke.
    Error,
    /// Nothing of the endpoint: this gateway had no descriptor or memory left to ask it.
    Unasked,
}

impl Answer {
    /// The word in labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Status => "status",
            Self::Timeout => "timeout",
            Self::Error => "error",
            Self::Unasked => "unasked",
        }
    }

    /// Whether the endpoint is healthy, as far as that was found.
    pub(super) const fn healthy(self) -> Option<bool> {
        match self {
            Self::Healthy => Some(true),
            Self::Status | Self::Timeout | Self::Error => Some(false),
            Self::Unasked => None,
        }
    }
}

/// Asks endpoints by the protocols of their groups.
#[derive(Debug)]
pub(super) struct Asker {
    upstream: Upstream<Empty<Bytes>>,
    path: String,
    limit: Duration,
}

impl Asker {
    pub(super) fn new(health: &Health, options: &UpstreamOptions) -> Self {
        // each check of HTTP/1.1 opens a connection, so that it tells whether one can be opened
        let options = options.clone().pool_max_idle(0).unwatched();
        Self {
            upstream: Upstream::new(options, Tunnels::new()),
            path: health.path.clone(),
            limit: health.timeout,
        }
    }

    pub(super) async fn ask(&self, group: &GroupName, address: SocketAddr) -> Answer {
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("http://{address}{}", self.path))
            .body(Empty::new());
        // the configuration has checked the path
        let Ok(request) = request else {
            return Answer::Error;
        };
        let leaf = self.upstream.endpoint(address).group(group.clone());
        match timeout(self.limit, leaf.oneshot(request)).await {
            Ok(Ok(answer)) if answer.status().is_success() => Answer::Healthy,
            Ok(Ok(_)) => Answer::Status,
            Ok(Err(error)) if error.ran_short() => Answer::Unasked,
            Ok(Err(_)) => Answer::Error,
            Err(_) => Answer::Timeout,
        }
    }
}
