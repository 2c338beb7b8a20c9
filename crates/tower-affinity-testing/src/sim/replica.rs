//! A replica: what it was told, what it sees, and how its clock runs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use tower_affinity_core::{
    EndpointId, EndpointRef, Fact, GroupCodes, GroupName, PinCodec, Readiness, Ready,
    ReplicaRecord, Rollout, Timestamp,
};

use super::fleet::{Expiries, Heard};
use super::model::{Claim, Model};
use super::names::{GROUPS, Id, Millis, number_of};
use super::place::{Place, Seen};

/// A state with the model's idea of it and the codes that resolve pins.
#[derive(Debug)]
pub(super) struct State {
    pub(super) rollout: Rollout,
    pub(super) model: Model,
    codes: RefCell<BTreeMap<usize, Rc<GroupCodes>>>,
}

impl State {
    pub(super) fn new(rollout: Rollout, model: Model) -> Rc<Self> {
        let codes = RefCell::default();
        Rc::new(Self {
            rollout,
            model,
            codes,
        })
    }

    pub(super) fn codes(&self, epoch: usize, codec: &PinCodec) -> Rc<GroupCodes> {
        let mut codes = self.codes.borrow_mut();
        let made = codes.entry(epoch).or_insert_with(|| {
            Rc::new(
                codec
                    .codes(&self.rollout)
                    .expect("no two ids have one code"),
            )
        });
        Rc::clone(made)
    }
}

/// An abort that was accepted out of reach of the engine, with the model's idea of it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) fact: Fact,
    pub(super) claim: Claim,
}

#[derive(Debug)]
pub(super) struct Replica {
    /// What it obeys: the shared state with its own aborts over it.
    pub(super) state: Rc<State>,
    /// The state that it has accepted last.
    pub(super) shared: Rc<State>,
    /// Aborts that only it knows, the earliest first.
    pub(super) held: Vec<Held>,
    /// The greatest revision of a pin that it has verified since its start.
    pub(super) shown: u64,
    /// How far its clock is off, in milliseconds.
    pub(super) offset: i64,
    /// How far its machine's wall clock has been stepped since its start.
    pub(super) stepped: i64,
    /// Since when it sees no ready endpoint of each group, by its clock.
    pub(super) down: [Option<Millis>; GROUPS],
    /// The endpoints of each group as it has last seen them.
    pub(super) endpoints: Seen,
    pub(super) blind: Option<Millis>,
    pub(super) epoch: usize,
    /// The greatest revision that a pin showed, and since when it is waited for.
    pub(super) behind: Option<(u64, Millis)>,
    /// Until when pins are valid, as far as it knows, and what of that is in its file.
    pub(super) expiries: Expiries,
    pub(super) kept: Expiries,
    /// Whether it crashed since, so that what is not in its file is lost.
    pub(super) crashed: bool,
    /// What it said of itself when it put its state in force.
    pub(super) record: Option<Rc<ReplicaRecord>>,
    /// What it has heard of all.
    pub(super) heard: Vec<Heard>,
    /// When it heard that, by its clock.
    pub(super) heard_at: Timestamp,
    /// The groups that it says are drained, with the ends of their new sessions.
    pub(super) says_drained: BTreeSet<(Id, Millis)>,
    /// Whether it serves nobody at present.
    pub(super) gone: bool,
    pub(super) lives: u32,
    /// Until when nothing comes to it from the engine.
    pub(super) cut_until: Millis,
}

/// A replica's view of what is ready.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Since when each group has no ready endpoint.
    pub(super) down: [Option<Millis>; GROUPS],
    pub(super) endpoints: Seen,
}

impl Readiness for View {
    fn of(&self, group: &GroupName) -> Ready {
        match self.down[usize::from(number_of(group))] {
            None => Ready::Yes,
            Some(since) => Ready::No {
                since: Timestamp::from_millis(since),
            },
        }
    }

    fn has(&self, group: &GroupName, endpoint: &EndpointRef) -> bool {
        let place = Place::known(Some(endpoint));
        place.is_some_and(|place| place.group == number_of(group) && self.is_up(place))
    }

    fn endpoint_ids(&self, group: &GroupName) -> Option<Arc<[EndpointId]>> {
        Some(self.ids(number_of(group)))
    }
}

impl Replica {
    pub(super) fn view(&self) -> View {
        let down = self.down.map(|down| match (down, self.blind) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        });
        let mut endpoints = self.endpoints;
        if self.blind.is_some() {
            let pods = endpoints.iter_mut().flatten().flatten();
            pods.for_each(|pod| pod.up = false);
        }
        View { down, endpoints }
    }
}
