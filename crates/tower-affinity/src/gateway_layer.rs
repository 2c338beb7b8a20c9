//! [`GatewayLayer`]: everything of a gateway but the leaf, in the one right order.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::time::Duration;

use tower_layer::Layer;

use crate::Problem;
use crate::affinity::{AffinityLayer, AffinityService};
use crate::record::{GroupMetrics, GroupMetricsLayer};
use crate::respond::{Respond, RespondLayer};
use crate::tag::{GroupTag, GroupTagLayer};
use crate::wire::PathPattern;

/// Everything of a gateway but the leaf, in the one right order.
///
/// From the outside: [`AffinityLayer`] · [`GroupTagLayer`] · [`GroupMetricsLayer`] ·
/// [`RespondLayer`], and inside of them a [`GroupBalance`](crate::balance::GroupBalance) or
/// another leaf. The order matters: names are set once there is a decision, what the endpoint
/// says is read before its names are removed, and what is counted is what the client gets: an
/// error is an answer by then.
///
/// ```
/// use std::convert::Infallible;
/// use std::sync::Arc;
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use tower::{Layer, service_fn};
/// use tower_affinity::balance::{Endpoint, GroupBalance, Groups, ReplayBody};
/// use tower_affinity::core::{NewGroup, Revision, Rollout, Timestamp, Weight};
/// use tower_affinity::{AffinityLayer, GatewayLayer, Keyring};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let groups = Groups::default();
/// groups.update(&"9f1c2ab".parse()?, ["127.0.0.1:7001".parse()?]);
/// groups.update(&"c3d4e5f".parse()?, ["127.0.0.1:7003".parse()?]);
/// let rollout = [
///     NewGroup::active("9f1c2ab".parse()?, Weight::new(90)?).stable(),
///     NewGroup::active("c3d4e5f".parse()?, Weight::new(10)?),
/// ];
/// let affinity = AffinityLayer::builder()
///     .keyring(Keyring::ephemeral()?)
///     .service("checkout")
///     .rollout(Rollout::new(Revision(1), Timestamp::from_secs(1_800_000_000), rollout)?)
///     .readiness(groups.clone())
///     .build()?;
/// let connect = |_: &Arc<Endpoint>| {
///     service_fn(|_: Request<ReplayBody<Full<Bytes>>>| async {
///         Ok::<_, Infallible>(Response::new(Full::from("served")))
///     })
/// };
/// let gateway = GatewayLayer::new(affinity).layer(GroupBalance::new(groups, connect));
/// # fn is_infallible<S: tower::Service<Request<Full<Bytes>>, Error = Infallible>>(_: S) {}
/// # is_infallible(gateway); Ok(()) }
/// ```
///
/// Since nothing fails outside of it, it fits where only an infallible service does, such as
/// axum's `Router::fallback_service`.
///
/// Customised: the same by hand, where layers of one's own are to stand in between.
///
/// ```
/// # use std::sync::Arc;
/// # use tower_affinity::AffinityLayer;
/// # use tower_affinity::balance::{Endpoint, GroupBalance, Groups};
/// # fn stack(affinity: AffinityLayer, groups: Groups) {
/// # fn connect(_: &Arc<Endpoint>) {}
/// use tower::ServiceBuilder;
/// use tower_affinity::{GroupMetricsLayer, GroupTagLayer, RespondLayer};
///
/// let gateway = ServiceBuilder::new()
///     .layer(affinity) // finds or makes the pin, decides, writes it back
///     .layer(GroupTagLayer::new()) // names the group to the endpoint, removes spoofed names
///     .layer(GroupMetricsLayer::new()) // counts and times per group and cohort
///     .layer(RespondLayer::new()) // errors become answers
///     .service(GroupBalance::new(groups, connect)); // takes it to an endpoint of the group
/// # let _ = gateway; }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct GatewayLayer {
    affinity: AffinityLayer,
    metrics: GroupMetricsLayer,
    respond: RespondLayer,
}

/// The service of [`GatewayLayer`].
pub type GatewayService<S> = AffinityService<GroupTag<GroupMetrics<Respond<S>>>>;

impl GatewayLayer {
    /// The layers around a leaf. They count through the recorder of `affinity`.
    pub fn new(affinity: AffinityLayer) -> Self {
        let recorder = affinity.recorder().clone();
        Self {
            affinity,
            metrics: GroupMetricsLayer::new().recorder(recorder),
            respond: RespondLayer::new(),
        }
    }

    /// As [`GroupMetricsLayer::slow`].
    pub fn slow(self, slow: Duration) -> Self {
        Self {
            metrics: self.metrics.slow(slow),
            ..self
        }
    }

    /// As [`GroupMetricsLayer::login`].
    pub fn login(self, paths: impl IntoIterator<Item = PathPattern>) -> Self {
        Self {
            metrics: self.metrics.login(paths),
            ..self
        }
    }

    /// As [`RespondLayer::problems`].
    pub fn problems(self, foreign: fn(&(dyn Error + 'static)) -> Option<Problem>) -> Self {
        Self {
            respond: self.respond.problems(foreign),
            ..self
        }
    }
}

impl<S> Layer<S> for GatewayLayer {
    type Service = GatewayService<S>;

    fn layer(&self, leaf: S) -> Self::Service {
        let infallible = self.respond.layer(leaf);
        let counted = self.metrics.layer(infallible);
        self.affinity.layer(GroupTagLayer::new().layer(counted))
    }
}
