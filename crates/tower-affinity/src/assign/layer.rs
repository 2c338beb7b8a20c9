//! [`AssignLayer`] and its settings.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tower_affinity_core::{
    AlwaysReady, Clock, CodeCollision, DrawSalt, Forwarding, GroupName, PinCodec, PinStore,
    Readiness,
};
use tower_layer::Layer;

use super::here::Here;
use super::service::Assign;
use super::state::{State, View};
use crate::clock::SystemClock;
use crate::experiments::Experiments;
use crate::record::Recorder;
use crate::{Expiries, Rollouts};

/// Decides which group serves a request; see the [module](super).
#[derive(Clone, Debug)]
#[must_use]
pub struct AssignLayer {
    state: Arc<State>,
}

impl AssignLayer {
    /// A layer that decides on the states of `rollouts`.
    ///
    /// # Errors
    ///
    /// If two groups of the present rollout have one code in pins.
    pub fn new(rollouts: Rollouts, codec: Arc<PinCodec>) -> Result<Self, CodeCollision> {
        let published = rollouts.published();
        let rollout = rollouts.current();
        let codes = codec.codes(&rollout)?;
        Ok(Self {
            state: Arc::new(State {
                salt: DrawSalt::new(codec.service()),
                view: Arc::new(ArcSwap::from_pointee(View::new(published, rollout, codes))),
                rollouts,
                codec,
                ready: Arc::new(AlwaysReady),
                peers: Arc::new(AlwaysReady),
                serving: None,
                forwarding: Forwarding::Never,
                clock: Arc::new(SystemClock::new()),
                recorder: Recorder::default(),
                expiries: Expiries::default(),
                store: None,
                experiments: None,
                hears: false,
            }),
        })
    }

    /// Which groups are ready; by default all.
    pub fn readiness(self, ready: Arc<dyn Readiness>) -> Self {
        self.with(|state| state.peers = ready)
    }

    /// The group that this process is, where no gateway draws for it.
    pub fn serving(self, group: GroupName) -> Self {
        self.with(|state| state.serving = Some(group))
    }

    /// Where the time comes from for requests that no wire side has looked at.
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        self.with(|state| state.clock = clock)
    }

    /// What counts refusals.
    pub fn recorder(self, recorder: Recorder) -> Self {
        self.with(|state| state.recorder = recorder)
    }

    /// What is told until when pins are valid.
    pub fn expiries(self, expiries: Expiries) -> Self {
        self.with(|state| state.expiries = expiries)
    }

    /// Keeps assignments in `store` as well; by default only clients keep them.
    pub fn store(self, store: Arc<dyn PinStore>) -> Self {
        self.with(|state| state.store = Some(store))
    }

    /// What becomes of that which belongs to another group; by default it is refused.
    pub(crate) fn forwarding(self, forwarding: Forwarding) -> Self {
        self.with(|state| state.forwarding = forwarding)
    }

    pub(crate) fn as_serving(&self) -> Option<&GroupName> {
        self.state.serving.as_ref()
    }

    pub(crate) fn as_rollouts(&self) -> &Rollouts {
        &self.state.rollouts
    }

    pub(crate) fn as_codec(&self) -> &Arc<PinCodec> {
        &self.state.codec
    }

    pub(crate) fn as_clock(&self) -> &Arc<dyn Clock> {
        &self.state.clock
    }

    /// What the application says in headers is heard here, with no
    /// [`SignalLayer`](crate::SignalLayer) inside.
    pub(crate) fn hears(self) -> Self {
        self.with(|state| state.hears = true)
    }

    /// Gives each session an arm of each experiment.
    pub fn experiments(self, experiments: Experiments) -> Self {
        self.with(|state| state.experiments = Some(experiments))
    }

    fn with(self, change: impl FnOnce(&mut State)) -> Self {
        let mut state = State::clone(&self.state);
        change(&mut state);
        let peers = Arc::clone(&state.peers);
        state.ready = match state.serving.clone() {
            Some(group) => Arc::new(Here { group, peers }),
            None => peers,
        };
        Self {
            state: Arc::new(state),
        }
    }
}

impl<S> Layer<S> for AssignLayer {
    type Service = Assign<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Assign::new(inner, Arc::clone(&self.state))
    }
}
