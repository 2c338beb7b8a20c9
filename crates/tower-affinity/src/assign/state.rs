//! What the services of one [`AssignLayer`](super::AssignLayer) share.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::Response;
use tower_affinity_core::{
    Clock, DrawSalt, Forwarding, GroupCodes, GroupName, GroupRef, PinCodec, PinStore, Readiness,
    Rollout, Serving, SessionPin, StoreCall,
};

use super::endpoints::Endpoints;
use super::stored::Word;
use crate::experiments::Experiments;
use crate::record::Recorder;
use crate::{Expiries, Rollouts, signal};

/// Everything that a decision depends on besides the request.
#[derive(Clone)]
pub(super) struct State {
    pub(super) rollouts: Rollouts,
    pub(super) codec: Arc<PinCodec>,
    pub(super) view: Arc<ArcSwap<View>>,
    pub(super) salt: DrawSalt,
    /// What the rule is told: as `peers` says, but for the group of this process.
    pub(super) ready: Arc<dyn Readiness>,
    pub(super) peers: Arc<dyn Readiness>,
    pub(super) serving: Option<GroupName>,
    pub(super) forwarding: Forwarding,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) recorder: Recorder,
    pub(super) expiries: Expiries,
    pub(super) store: Option<Arc<dyn PinStore>>,
    pub(super) experiments: Option<Experiments>,
    /// Whether the application speaks to it in headers.
    pub(super) hears: bool,
}

/// One snapshot together with the codes of its groups.
pub(super) struct View {
    /// How many states were published before it was made.
    published: u64,
    pub(super) rollout: Arc<Rollout>,
    pub(super) codes: GroupCodes,
    pub(super) endpoints: Endpoints,
}

impl View {
    pub(super) fn new(published: u64, rollout: Arc<Rollout>, codes: GroupCodes) -> Self {
        Self {
            published,
            rollout,
            codes,
            endpoints: Endpoints::default(),
        }
    }
}

impl State {
    pub(super) fn serving(&self) -> Option<Serving<'_>> {
        let forwarding = self.forwarding;
        let serving = self.serving.as_ref();
        serving.map(|group| Serving { group, forwarding })
    }

    /// A pin was verified, or is going to be issued.
    pub(super) fn note(&self, pin: &SessionPin) {
        if let GroupRef::Known(id) = &pin.group {
            self.expiries.note(id, pin.expires);
        }
    }

    /// Takes in what the application says in the headers of its answer.
    pub(super) fn hear<R>(&self, response: &mut Response<R>) {
        if self.hears {
            signal::hear(response, &self.recorder);
        }
    }

    /// Tells the store what a request has to say that has `waited` for it so far; `None` if there is
    /// none.
    pub(super) fn tell(
        &self,
        word: Word,
        waited: Duration,
    ) -> Option<StoreCall<Option<SessionPin>>> {
        let store = &**self.store.as_ref()?;
        let hurried = (!waited.is_zero()).then(|| store.having_waited(waited));
        Some(word.tell(hurried.flatten().as_deref().unwrap_or(store)))
    }

    /// Whether a view is of the present snapshot.
    pub(super) fn is_current(&self, view: &View) -> bool {
        view.published == self.rollouts.published()
    }

    /// The present snapshot with its codes, which are made once for each snapshot.
    pub(super) fn view(&self) -> Arc<View> {
        let view = self.view.load_full();
        if self.is_current(&view) {
            return view;
        }
        let published = self.rollouts.published();
        let rollout = self.rollouts.current();
        let codes = self.codec.codes(&rollout).unwrap_or_else(|collision| {
            // changes are checked for this before they are published: a pin to either group is
            // unknown then, and its session is drawn anew
            tracing::error!(%collision, "codes of the rollout collide");
            GroupCodes::default()
        });
        let view = Arc::new(View::new(published, rollout, codes));
        self.view.store(Arc::clone(&view));
        view
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("View")
            .field(&self.rollout.revision())
            .finish()
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
