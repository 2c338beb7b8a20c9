//! Counts and times requests per group, into the `metrics` crate.
//!
//! [`GroupMetricsLayer`] counts every request once, when its answer's body (or tunnel) ends or is
//! dropped: `affinity_requests_total{group,cohort,decision,cause,code_class}`, with its duration in
//! `affinity_request_duration_seconds{group,cohort}` and, until then, in
//! `affinity_requests_in_flight{group}`. `code_class` is `1xx` (a tunnel) to `5xx` for a whole
//! answer, `cut` if we cut it with its group, `error` if the body broke or, without a [`RespondLayer`](crate::RespondLayer) inside, the
//! service failed, and `client_abort` if the answer
//! was not waited for or not taken to its end.
//!
//! Of sessions it counts those that fail (an answer was an error of the server, ours included, or
//! broke off; by gRPC's status where there is one), are slow, or are not known to be signed in, and
//! has the pin say the first two, so that each counts once. What the application says of its
//! sessions is counted by an [`AssignLayer`](crate::AssignLayer).
//!
//! Everything goes through a [`Recorder`], which the other layers share: what they refuse is
//! counted there, so that the sum is the number of requests. By default it feeds the recorder that
//! the application installs globally, whenever that is.
//!
//! Labels come from the rollout and from closed lists, never from a client. Alone, without an
//! [`AssignLayer`](crate::AssignLayer) outside, group and decision are `unknown`.
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_affinity::GroupMetricsLayer;
//!
//! let stack = ServiceBuilder::new().layer(GroupMetricsLayer::new());
//! # let _ = stack;
//! ```
//!
//! Customised: a recorder of one's own instead of the global one, shared by all layers.
//!
//! ```
//! use std::sync::Arc;
//! use metrics_util::debugging::DebuggingRecorder;
//! use tower::ServiceBuilder;
//! use tower_affinity::{AffinityLayer, GroupMetricsLayer};
//! use tower_affinity::record::Recorder;
//!
//! let recorder = Recorder::new(Arc::new(DebuggingRecorder::new()));
//! let affinity = AffinityLayer::builder().recorder(recorder.clone()); // and what else it needs
//! let stack = ServiceBuilder::new().layer(GroupMetricsLayer::new().recorder(recorder));
//! # let _ = (affinity, stack);
//! ```

mod account;
mod auth;
mod body;
mod bursts;
mod common;
mod dropped;
mod future;
mod head;
mod hint;
#[cfg(feature = "tokio")]
mod inputs;
mod live;
mod local;
mod names;
mod once;
mod outcomes;
mod peers;
mod recorder;
mod reload;
mod retry;
mod returned;
mod running;
mod series;
mod service;
mod settled;
mod source;
mod store;
mod tally;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;

pub use self::account::{Account, Summary};
pub use self::body::MetricsBody;
pub use self::bursts::{AuthBurst, AuthNews};
pub(crate) use self::dropped::Dropped;
pub use self::future::ResponseFuture;
use self::head::Heads;
pub(crate) use self::hint::HintOutcome;
#[cfg(feature = "tokio")]
pub(crate) use self::inputs::Input;
pub(crate) use self::local::{LocalEnd, fields_dropped};
pub(crate) use self::outcomes::{Ending, Observed};
pub(crate) use self::peers::PeerOutcome;
pub use self::recorder::Recorder;
pub(crate) use self::reload::Reload;
pub(crate) use self::retry::RetryOutcome;
pub use self::service::GroupMetrics;
pub use self::store::StoreOp;
pub use self::tally::Tallies;
pub(crate) use self::told::ToldRejected;
use crate::misplaced::Misplaced;
use crate::wire::PathPattern;

/// Counts and times requests per group; see the [module](self).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct GroupMetricsLayer {
    misplaced: Misplaced,
    recorder: Recorder,
    heads: Heads,
}

impl GroupMetricsLayer {
    /// The layer, with the global recorder of the `metrics` crate.
    pub fn new() -> Self {
        Self::default()
    }

    /// What counts, shared with the other layers.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// A session is slow if the head of an answer takes longer than this; by default a second.
    pub fn slow(mut self, slow: Duration) -> Self {
        self.heads.slow = slow;
        self
    }

    /// Where the application sends people to sign in; by default nowhere. A redirect to one of these
    /// paths counts as a failure to authenticate, as 401 and 403 do.
    pub fn login(mut self, paths: impl IntoIterator<Item = PathPattern>) -> Self {
        let paths: Arc<[PathPattern]> = paths.into_iter().collect();
        self.heads.login = Some(paths).filter(|paths| !paths.is_empty());
        self
    }
}

impl<S> Layer<S> for GroupMetricsLayer {
    type Service = GroupMetrics<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GroupMetrics {
            inner,
            misplaced: self.misplaced.clone(),
            recorder: self.recorder.clone(),
            heads: self.heads.clone(),
        }
    }
}
