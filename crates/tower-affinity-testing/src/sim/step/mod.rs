//! One step: what happens next, drawn from the seed.

mod edge;
mod forge;
mod machine;
mod request;

pub(super) use self::edge::plain;

use crate::sim::fleet::Said;
use crate::sim::names::{Millis, TA, TI};
use crate::sim::world::{Check, Event, World};

pub(super) const MINUTE: Millis = 60_000;

impl World<'_> {
    pub(crate) fn step(&mut self) -> Check {
        match self.dice.below(100) {
            0..=56 => self.any_request(),
            57 => self.look_at_drained(),
            58..=82 => {
                let span = self.any_span();
                self.advance(span)?;
                self.beat_all();
                Ok(())
            }
            83..=90 => self.endpoint_event(),
            91..=94 => self.operate(),
            95..=97 => self.replica_event(),
            98 if self.dice.chance(600) => self.at_a_deadline(),
            _ => self.at_an_edge(),
        }
    }

    pub(crate) fn any_span(&mut self) -> Millis {
        self.hurry = self.hurry.saturating_sub(1);
        if self.hurry > 0 {
            return self.dice.within(1, 1_500);
        }
        match self.dice.below(1000) {
            0..=449 => self.dice.within(1, 1_000),
            450..=799 => self.dice.within(1_000, 20_000),
            800..=969 => self.dice.within(20_000, 10 * MINUTE),
            970..=995 => self
                .dice
                .within(10 * MINUTE, TI.as_millis() as Millis + MINUTE),
            _ => self.dice.within(MINUTE, 2 * TA.as_millis() as Millis),
        }
    }

    /// Moves the true time on, and lets happen what is due until then.
    pub(crate) fn advance(&mut self, span: Millis) -> Check {
        let until = self.now + span;
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > until {
                break;
            }
            let ((at, _), event) = entry.remove_entry();
            self.now = at.max(self.now);
            self.happen(event)?;
        }
        self.now = until;
        Ok(())
    }

    pub(crate) fn happen(&mut self, event: Event) -> Check {
        match event {
            Event::Deliver(replica, _) | Event::Reread(replica) if self.is_gone(replica) => Ok(()),
            Event::Start(replica) if self.is_cut_off(replica) => {
                let wait = self.replicas[replica].cut_until - self.now;
                self.after(wait, Event::Start(replica));
                Ok(())
            }
            Event::Deliver(replica, _) | Event::Reread(replica) if self.is_cut(replica) => {
                let wait = self.replicas[replica].cut_until - self.now;
                self.after(wait, Event::Reread(replica));
                Ok(())
            }
            Event::Deliver(replica, state) => self.accept(replica, state),
            Event::Reread(replica) => self.sync(replica),
            Event::Say(replica, said) => {
                let written = self.now;
                self.said[replica] = Some(Said { written, ..said });
                Ok(())
            }
            Event::Start(replica) if self.is_gone(replica) => self.start(replica),
            Event::Start(_) => Ok(()),
            Event::Obey(replica, order) => self.obey(replica, &order),
            Event::Look(replica, group) => {
                self.look(replica, group);
                Ok(())
            }
            Event::Answer(flight) => match self.flights.remove(&flight) {
                Some(flight) => self.answer(&flight),
                None => Ok(()),
            },
            Event::Arrive(client, pin) => {
                self.arrive(client, pin);
                Ok(())
            }
        }
    }
}
