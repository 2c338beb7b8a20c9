//! [`PeerForwardLayer`] and its settings.

use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;

use super::error::PeersError;
use super::sending::Sending;
use super::service::PeerForward;
use crate::affinity::{AffinityLayer, AffinityService};
use crate::balance::{GroupBalance, Groups, Retries};

/// Serves what is decided for the group of this process, and forwards everything else; see the
/// [module](super).
#[derive(Clone)]
#[must_use]
pub struct PeerForwardLayer<C> {
    affinity: AffinityLayer,
    balance: GroupBalance<C>,
    sending: Arc<Sending>,
}

/// The service of [`PeerForwardLayer`] around the local service `S`.
pub type PeerForwardService<S, C> = AffinityService<PeerForward<S, C>>;

impl<C> PeerForwardLayer<C> {
    /// `affinity` decides, with `peers` to tell which groups are ready; `connect` gives the service
    /// that speaks to the picked endpoint. It counts through the recorder of `affinity`, and asks its
    /// rollout before a request is sent again.
    ///
    /// # Errors
    ///
    /// If `affinity` does not say which group this process is, or has a key that only verifies.
    pub fn new(affinity: AffinityLayer, peers: Groups, connect: C) -> Result<Self, PeersError> {
        let assign = affinity.as_assign();
        let group = assign.as_serving().ok_or(PeersError::NotServing)?.clone();
        if !assign.as_codec().takes_all_hops() {
            return Err(PeersError::VerifyingKey);
        }
        let recorder = affinity.recorder().clone();
        Ok(Self {
            balance: GroupBalance::new(peers.clone(), connect)
                .recorder(recorder.clone())
                .rollouts(assign.as_rollouts().clone()),
            sending: Arc::new(Sending {
                group,
                codec: Arc::clone(assign.as_codec()),
                clock: Arc::clone(assign.as_clock()),
                recorder,
            }),
            affinity: affinity.forwarding(peers),
        })
    }

    /// Draws new sessions by the weights of the rollout, as a gateway does, and forwards those that belong
    /// to another group. By default a new session is this process's own while its group is active,
    /// whatever the weights: so a group gets the share of its processes.
    ///
    /// A process of a group of weight 0 keeps none then, so what is listed as peers has to be there before
    /// the first request. Pins, and what has no session, are served as by default.
    pub fn by_weight(self) -> Self {
        Self {
            affinity: self.affinity.by_weight(),
            ..self
        }
    }

    /// How often a forwarded request is sent again; see [`Retries`] for the defaults.
    pub fn retries(self, retries: Retries) -> Self {
        Self {
            balance: self.balance.retries(retries),
            ..self
        }
    }
}

impl<S, C: Clone> Layer<S> for PeerForwardLayer<C> {
    type Service = PeerForwardService<S, C>;

    fn layer(&self, local: S) -> Self::Service {
        let (balance, sending) = (self.balance.clone(), Arc::clone(&self.sending));
        self.affinity
            .layer(PeerForward::new(local, balance, sending))
    }
}

impl<C> fmt::Debug for PeerForwardLayer<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerForwardLayer")
            .field("affinity", &self.affinity)
            .field("balance", &self.balance)
            .finish_non_exhaustive()
    }
}
