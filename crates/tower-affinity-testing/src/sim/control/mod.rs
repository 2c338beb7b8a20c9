//! The control plane: what operators ask for, and how it comes to the replicas.

mod accept;
mod change;
mod engine;
mod facts;
mod orders;
mod sync;

use std::rc::Rc;

use tower_affinity_core::Timestamp;

use crate::sim::parts::Order;
use crate::sim::replica::State;
use crate::sim::world::{Check, Event, Source, World};

impl World<'_> {
    pub(crate) fn operate(&mut self) -> Check {
        match self.dice.below(100) {
            0 => self.set_back(),
            1..=6 => self.look_at_disputes()?,
            7..=9 => self.cut_off_aborts()?,
            10 if self.dice.chance(300) => self.forget_replica(),
            _ => {}
        }
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
                let replica = self.dice.below(self.replicas.len());
                self.order_at(replica, order)
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

    /// An order comes to a replica that shares its state.
    pub(crate) fn order_at(&mut self, replica: usize, order: &Order) -> Check {
        if self.is_gone(replica) {
            return Ok(());
        }
        if self.is_cut(replica) {
            return self.obey_alone(replica, order);
        }
        self.sync(replica)?;
        let shared = Rc::clone(&self.replicas[replica].shared);
        let view = self.replicas[replica].view();
        let now = Timestamp::from_millis(self.now);
        if let Some(next) = self.changed(&shared, order, view, now, replica)? {
            self.write(replica, &next)?;
            // what it settles, such as an abort that it confirms, is settled with it
            self.contribute(replica)?;
        }
        Ok(())
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

    /// Some replicas lose the engine, and operators abort groups there.
    fn cut_off_aborts(&mut self) -> Check {
        if self.source == Source::Files {
            return Ok(());
        }
        self.hurry = 30;
        for replica in 0..self.replicas.len() {
            if self.dice.chance(600) {
                self.replicas[replica].cut_until = self.now + self.dice.within(5_000, 60_000);
                let abort = Order::Abort {
                    group: self.any_group(),
                    to: self.maybe_a_group(),
                    policy: None,
                    force: true,
                };
                self.order_at(replica, &abort)?;
            }
        }
        Ok(())
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
