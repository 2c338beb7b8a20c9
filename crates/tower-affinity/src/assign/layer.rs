//! [`AssignLayer`]: the layer and what all its services share.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tower_affinity_core::{
    AlwaysReady, Clock, CodeCollision, DrawSalt, GroupCodes, GroupName, PinCodec, Readiness,
    Rollout,
};
use tower_layer::Layer;

use super::service::Assign;
use crate::Rollouts;
use crate::clock::SystemClock;
use crate::record::Recorder;

/// Decides which group serves a request; see the [module](super).
#[derive(Clone, Debug)]
#[must_use]
pub struct AssignLayer {
    state: Arc<State>,
}

/// What the services of one layer share.
pub(super) struct State {
    pub(super) rollouts: Rollouts,
    pub(super) codec: Arc<PinCodec>,
    pub(super) view: ArcSwap<View>,
    pub(super) salt: DrawSalt,
    pub(super) ready: Arc<dyn Readiness>,
    pub(super) serving: Option<GroupName>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) recorder: Recorder,
}

/// One snapshot together with the codes of its groups.
pub(super) struct View {
    pub(super) rollout: Arc<Rollout>,
    pub(super) codes: GroupCodes,
}

impl AssignLayer {
    /// A layer that decides on the states of `rollouts`.
    ///
    /// # Errors
    ///
    /// If two groups of the present rollout have one code in pins.
    pub fn new(rollouts: Rollouts, codec: Arc<PinCodec>) -> Result<Self, CodeCollision> {
        let rollout = rollouts.current();
        let codes = codec.codes(&rollout)?;
        Ok(Self {
            state: Arc::new(State {
                salt: DrawSalt::new(codec.service()),
                view: ArcSwap::from_pointee(View { rollout, codes }),
                rollouts,
                codec,
                ready: Arc::new(AlwaysReady),
                serving: None,
                clock: Arc::new(SystemClock::new()),
                recorder: Recorder::default(),
            }),
        })
    }

    /// Which groups are ready; by default all.
    pub fn readiness(self, ready: Arc<dyn Readiness>) -> Self {
        self.with(|state| state.ready = ready)
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

    fn with(self, change: impl FnOnce(&mut State)) -> Self {
        let shared = &self.state;
        let mut state = State {
            rollouts: shared.rollouts.clone(),
            codec: Arc::clone(&shared.codec),
            view: ArcSwap::new(shared.view.load_full()),
            salt: shared.salt.clone(),
            ready: Arc::clone(&shared.ready),
            serving: shared.serving.clone(),
            clock: Arc::clone(&shared.clock),
            recorder: shared.recorder.clone(),
        };
        change(&mut state);
        Self {
            state: Arc::new(state),
        }
    }
}

impl State {
    /// The present snapshot with its codes, which are made once for each snapshot.
    pub(super) fn view(&self) -> Arc<View> {
        let rollout = self.rollouts.current();
        let view = self.view.load_full();
        if Arc::ptr_eq(&view.rollout, &rollout) {
            return view;
        }
        let codes = self.codec.codes(&rollout).unwrap_or_else(|collision| {
            // changes are checked for this before they are published: a pin to either group is
            // unknown then, and its session is drawn anew
            tracing::error!(%collision, "codes of the rollout collide");
            GroupCodes::default()
        });
        let view = Arc::new(View { rollout, codes });
        self.view.store(Arc::clone(&view));
        view
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("rollouts", &self.rollouts)
            .field("codec", &self.codec)
            .field("serving", &self.serving)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for AssignLayer {
    type Service = Assign<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Assign::new(inner, Arc::clone(&self.state))
    }
}
