//! What there is to see of one run: the acts played so far and what the operator did.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    operator::{Order, Weights},
    tally::{Counts, Tally},
};

/// Whether the gateway of a run keeps sessions together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Affinity {
    Off,
    On,
}

/// One run, as it goes on. Shared between those who play and those who draw.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) affinity: Affinity,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    acts: Vec<(&'static str, Arc<Tally>)>,
    orders: Vec<Order>,
    weights: Weights,
}

/// A moment of a board.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) acts: Vec<(&'static str, Counts)>,
    pub(crate) orders: Vec<Order>,
    pub(crate) weights: Weights,
}

impl Board {
    pub(crate) fn new(affinity: Affinity) -> Self {
        Self {
            affinity,
            seen: Mutex::default(),
        }
    }

    /// Opens the next act and gives out the tally that its sessions enter themselves in.
    pub(crate) fn act(&self, title: &'static str) -> Arc<Tally> {
        let tally = Arc::new(Tally::default());
        self.seen().acts.push((title, tally.clone()));
        tally
    }

    pub(crate) fn ordered(&self, order: Order, weights: Weights) {
        let mut seen = self.seen();
        seen.orders.push(order);
        seen.weights = weights;
    }

    pub(crate) fn now(&self) -> Moment {
        let seen = self.seen();
        Moment {
            acts: seen
                .acts
                .iter()
                .map(|(title, tally)| (*title, tally.now()))
                .collect(),
            orders: seen.orders.clone(),
            weights: seen.weights.clone(),
        }
    }

    // Every change of the board is one assignment, so a panic leaves it whole.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Affinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "affinity off",
            Self::On => "affinity on",
        })
    }
}
