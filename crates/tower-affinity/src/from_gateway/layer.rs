//! The layer [`FromGatewayLayer`].

use std::sync::Arc;

use tower_affinity_core::{Clock, Lifetimes, PinVerifier};
use tower_layer::Layer;

use super::service::FromGateway;
use super::shared::Shared;
use crate::Trust;
use crate::record::Recorder;

/// Makes [`Affinity`](crate::Affinity) from what a gateway says; see the [module](super).
#[derive(Clone, Debug)]
#[must_use]
pub struct FromGatewayLayer {
    shared: Arc<Shared>,
}

impl FromGatewayLayer {
    /// A layer that believes those.
    pub fn new(trust: Trust) -> Self {
        Self {
            shared: Arc::new(Shared::new(trust)),
        }
    }

    /// Who names a session has to send its pin as well (`affinity-pin`, which a gateway sends in scopes
    /// with `propagate = true`), valid for this verifier's service. By default no pin is looked at.
    pub fn verifier(self, verifier: PinVerifier) -> Self {
        self.with(|shared| shared.verifier = Some(verifier))
    }

    /// How long pins live, as the gateway has it; by default 30 minutes idle and 4 hours in all.
    pub fn lifetimes(self, lifetimes: Lifetimes) -> Self {
        self.with(|shared| shared.lifetimes = lifetimes)
    }

    /// Where the time for pins comes from; by default a [`SystemClock`](crate::SystemClock).
    pub fn clock(self, clock: impl Clock) -> Self {
        self.with(|shared| shared.clock = Arc::new(clock))
    }

    /// What counts what is not believed.
    pub fn recorder(self, recorder: Recorder) -> Self {
        self.with(|shared| shared.recorder = recorder)
    }

    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        change(Arc::make_mut(&mut self.shared));
        self
    }
}

impl<S> Layer<S> for FromGatewayLayer {
    type Service = FromGateway<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FromGateway::new(inner, Arc::clone(&self.shared))
    }
}
