//! A request on its way.

use std::rc::Rc;

use tower_affinity_core::{Decision, EndpointId, Said, Timestamp};

use super::names::Id;
use super::oracle::Home;
use super::place::Place;
use super::replica::State;

#[derive(Debug)]
pub(super) struct Flight {
    pub(super) client: usize,
    pub(super) replica: usize,
    /// The life of the replica that took it: a crash ends what is in flight.
    pub(super) life: u32,
    pub(super) decision: Decision,
    pub(super) group: Id,
    /// What becomes of the session's endpoint.
    pub(super) home: Home,
    /// The endpoint that answers, where that matters.
    pub(super) served: Option<Place>,
    /// The state that it was decided on.
    pub(super) state: Rc<State>,
    pub(super) at: Timestamp,
    pub(super) streams: bool,
    /// What the application says.
    pub(super) said: Said,
    /// Its place in the record, where the run is recorded.
    pub(super) recorded: Option<usize>,
}

impl Flight {
    /// The endpoint that answers, as its leaf tells it: of a session that is bound to one.
    pub(super) fn served_by(&self) -> Option<EndpointId> {
        let told = self.served.filter(|_| self.decision.endpoint_key.is_some());
        told.map(Place::id)
    }

    pub(super) fn speaks(&self) -> bool {
        self.said != Said::default()
    }
}
