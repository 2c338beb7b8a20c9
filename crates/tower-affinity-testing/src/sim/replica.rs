//! A replica: what it was told, what it sees, and how its clock runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tower_affinity_core::{
    Fact, GroupCodes, GroupName, PinCodec, Readiness, Ready, Rollout, Timestamp,
};

use super::model::{Claim, Model};
use super::names::{GROUPS, Id, Millis, number_of};

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
    pub(super) blind: Option<Millis>,
    pub(super) epoch: usize,
    /// The greatest revision that a pin showed, and since when it is waited for.
    pub(super) behind: Option<(u64, Millis)>,
    /// The groups that it knows to drain: since when by the state, and since when it knows.
    pub(super) draining: BTreeMap<Id, (Timestamp, Millis)>,
    pub(super) lives: u32,
    /// Until when nothing comes to it from the engine.
    pub(super) cut_until: Millis,
}

/// A replica's view of what is ready.
#[derive(Clone, Copy, Debug)]
pub struct View(pub(super) [Option<Millis>; GROUPS]);

impl Readiness for View {
    fn of(&self, group: &GroupName) -> Ready {
        match self.0[usize::from(number_of(group))] {
            None => Ready::Yes,
            Some(since) => Ready::No {
                since: Timestamp::from_millis(since),
            },
        }
    }
}

impl Replica {
    pub(super) fn view(&self) -> View {
        View(self.down.map(|down| match (down, self.blind) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }))
    }
}
