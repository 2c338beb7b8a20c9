//! A request on its way.

use std::rc::Rc;

use tower_affinity_core::{Decision, Said, Timestamp};

use super::names::Id;
use super::replica::State;

#[derive(Debug)]
pub(super) struct Flight {
    pub(super) client: usize,
    pub(super) replica: usize,
    /// The life of the replica that took it: a crash ends what is in flight.
    pub(super) life: u32,
    pub(super) decision: Decision,
    pub(super) group: Id,
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
    pub(super) fn speaks(&self) -> bool {
        self.said != Said::default()
    }
}
