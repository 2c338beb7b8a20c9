//! The control plane: what operators ask for, and how it comes to the replicas.

mod accept;
mod change;
mod drained;
mod orders;

use std::rc::Rc;

use tower_affinity_core::Timestamp;

use crate::sim::parts::Order;
use crate::sim::replica::State;
use crate::sim::world::{Check, Event, Source, World};

impl World<'_> {
    pub(crate) fn operate(&mut self) -> Check {
        let order = self.any_order();
        let next = match order {
            // what is new is soon used: replicas that are behind meet a group that they do not know
            Order::Register(group, _) | Order::Restore(group) if self.dice.chance(500) => {
                Some(Order::Weights(vec![(group, 100)]))
            }
            _ => None,
        };
        if next.is_some() || self.dice.chance(100) {
            self.hurry = 30;
        }
        if next.is_some() && self.dice.chance(300) {
            let cut = self.dice.below(self.replicas.len());
            self.replicas[cut].cut_until = self.now + self.dice.within(5_000, 60_000);
            self.hurry = 60;
        }
        self.issue(&order)?;
        next.map_or(Ok(()), |next| self.issue(&next))
    }

    pub(crate) fn issue(&mut self, order: &Order) -> Check {
        match self.source {
            Source::Engine => {
                let view = self.replicas[0].view();
                let (head, now) = (Rc::clone(&self.head), Timestamp::from_millis(self.now));
                if let Some(next) = self.changed(&head, order, view, now, None)? {
                    self.head = Rc::clone(&next);
                    for replica in 0..self.replicas.len() {
                        self.send(replica, &next);
                    }
                }
                Ok(())
            }
            Source::Files => {
                if self.replicas.len() > 1 && self.dice.chance(30) {
                    self.cross();
                    return Ok(());
                }
                for replica in 0..self.replicas.len() {
                    let alone = self.replicas.len() == 1;
                    if alone || !self.dice.chance(80) {
                        let delay = if alone { 0 } else { self.any_delay() };
                        self.after(delay, Event::Obey(replica, order.clone()));
                    }
                    if self.dice.chance(100) {
                        let delay = self.any_delay();
                        self.after(delay, Event::Obey(replica, order.clone()));
                    }
                }
                Ok(())
            }
        }
    }

    /// Two operators at once, each at another replica: they abort each other's target.
    pub(crate) fn cross(&mut self) {
        let group = self.any_group();
        let other = self.any_group();
        for (replica, group, to) in [(0, group, other), (1, other, group)] {
            let abort = Order::Abort {
                group,
                to: Some(to),
                policy: None,
                force: true,
            };
            self.after(0, Event::Obey(replica, abort));
        }
    }

    /// A snapshot on its way to a replica: late, twice, or lost until the replica reads again.
    pub(crate) fn send(&mut self, replica: usize, state: &Rc<State>) {
        let delay = self.any_delay();
        if self.dice.chance(100) {
            self.after(delay + 60_000, Event::Reread(replica));
        } else {
            self.after(delay, Event::Deliver(replica, Rc::clone(state)));
        }
        if self.dice.chance(100) {
            let again = self.any_delay();
            self.after(again, Event::Deliver(replica, Rc::clone(state)));
        }
    }

    pub(crate) fn any_delay(&mut self) -> u64 {
        match self.dice.below(10) {
            0..=5 => self.dice.within(0, 500),
            6..=7 => self.dice.within(0, 5_000),
            _ => self.dice.within(0, 60_000),
        }
    }
}
