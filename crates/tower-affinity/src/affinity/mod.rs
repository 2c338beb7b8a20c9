//! [`AffinityLayer`]: what most users add.

mod builder;
mod extension;
mod service;

use std::sync::Arc;

use tower_affinity_core::Forwarding;
use tower_layer::Layer;

pub use self::builder::{AffinityBuilder, BuildError};
pub use self::extension::Affinity;
pub use self::service::AffinityService;
use crate::assign::AssignLayer;
use crate::balance::Groups;
use crate::record::Recorder;
use crate::wire::PinLayer;

/// Keeps sessions on the commit on which they began: [`PinLayer`] around [`AssignLayer`] around
/// [`SignalLayer`](crate::SignalLayer).
///
/// ```
/// # #[cfg(not(feature = "axum"))] fn main() {}
/// # #[cfg(feature = "axum")] fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use axum::{Router, routing::post};
/// use tower_affinity::core::{NewGroup, Revision, Rollout, Timestamp, Weight};
/// use tower_affinity::{Affinity, AffinityLayer, Keyring};
///
/// async fn step(affinity: Affinity) -> String {
///     format!("served by {}", affinity.group())
/// }
///
/// let groups = [
///     NewGroup::active("9f1c2ab".parse()?, Weight::new(90)?).stable(),
///     NewGroup::active("c3d4e5f".parse()?, Weight::new(10)?),
/// ];
/// let rollout = Rollout::new(Revision(1), Timestamp::from_secs(1_800_000_000), groups)?;
/// let layer = AffinityLayer::builder()
///     .keyring(Keyring::ephemeral()?)
///     .service("checkout")
///     .rollout(rollout)
///     .build()?;
/// let app: Router = Router::new().route("/step", post(step)).layer(layer);
/// # Ok(()) }
/// ```
///
/// Customised: assets follow a session without binding one, the rest is drawn by a user's id.
///
/// ```
/// # use tower_affinity::core::{NewGroup, Revision, Rollout, Timestamp, Weight};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tower_affinity::core::{Level, Lifetimes};
/// use tower_affinity::wire::{AssignBy, PathPattern, Scope};
/// use tower_affinity::{AffinityLayer, Keyring};
///
/// # let groups = [NewGroup::active("9f1c2ab".parse()?, Weight::new(1)?).stable()];
/// # let rollout = Rollout::new(Revision(1), Timestamp::from_secs(1_800_000_000), groups)?;
/// let user = http::HeaderName::from_static("x-user-id");
/// let layer = AffinityLayer::builder()
///     .keyring(Keyring::ephemeral()?)
///     .service("checkout")
///     .rollout(rollout)
///     .serving("9f1c2ab".parse()?)
///     .lifetimes(Lifetimes::new(Duration::from_secs(900), Duration::from_secs(7200))?)
///     .scope(Scope::new("/static/*".parse()?).level(Level::Follow))
///     .scope(Scope::new(PathPattern::all()).assign(AssignBy::Header(user)))
///     .build()?;
/// # let _ = layer; Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct AffinityLayer {
    pin: PinLayer,
    assign: AssignLayer,
    recorder: Recorder,
}

impl AffinityLayer {
    /// Collects what the layer needs: a keyring, a service and a rollout.
    pub fn builder() -> AffinityBuilder {
        AffinityBuilder::default()
    }

    /// The layer of a process that takes what belongs to other groups to `peers`.
    pub(crate) fn forwarding(self, peers: Groups) -> Self {
        let assign = self.assign.readiness(Arc::new(peers));
        let assign = assign.forwarding(Forwarding::Foreign);
        Self { assign, ..self }
    }

    /// New sessions are drawn by weight as well.
    pub(crate) fn by_weight(self) -> Self {
        let assign = self.assign.forwarding(Forwarding::ByWeight);
        Self { assign, ..self }
    }

    pub(crate) fn as_assign(&self) -> &AssignLayer {
        &self.assign
    }

    /// What counts for all of it.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }
}

impl<S> Layer<S> for AffinityLayer {
    type Service = AffinityService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AffinityService::new(self.pin.layer(self.assign.layer(inner)))
    }
}
