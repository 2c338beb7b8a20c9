//! Answers, and the cookies that arrive with them.

use std::rc::Rc;

use tower_affinity_core::{Answer, Cause, GroupId, Settled};

use crate::sim::Violation;
use crate::sim::flight::Flight;
use crate::sim::ledger::Entry;
use crate::sim::names::{lifetimes, signing_key};
use crate::sim::oracle::{Sight, Wish};
use crate::sim::record::{Answered, Written};
use crate::sim::world::{Check, Event, World};

/// What an answer carries for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    Nothing,
    Clearing,
    /// The pin of that entry.
    Pin(usize),
}

impl World<'_> {
    /// An answer comes back from the endpoint to the replica.
    pub(crate) fn answer(&mut self, flight: &Flight) -> Check {
        let client = &mut self.clients[flight.client];
        client.in_flight = client.in_flight.saturating_sub(1);
        if self.replicas[flight.replica].lives != flight.life {
            return Ok(());
        }
        let arrives = match self.settle(flight)? {
            Carries::Nothing => return Ok(()),
            Carries::Clearing => None,
            Carries::Pin(entry) => Some(entry),
        };
        let lost = self.faults && self.dice.chance(50);
        if !lost {
            let delay = if self.faults {
                self.dice.within(0, 300)
            } else {
                0
            };
            self.after(delay, Event::Arrive(flight.client, arrives));
        }
        Ok(())
    }

    pub(crate) fn settle(&mut self, flight: &Flight) -> Check<Carries> {
        let carries = self.settled(flight)?;
        if self.record.is_some() {
            self.record_answer(flight, carries);
        }
        Ok(carries)
    }

    fn record_answer(&mut self, flight: &Flight, carries: Carries) {
        let replica = flight.replica;
        let newest = Rc::clone(&self.replicas[replica].state);
        let answered = Answered {
            seen: self.sees(replica, &newest.rollout, self.clock(replica)),
            said: flight.said,
            served_by: flight.served_by(),
            streams: flight.streams,
            writes: match carries {
                Carries::Nothing => Written::Nothing,
                Carries::Clearing => Written::Clearing,
                Carries::Pin(entry) => Written::Pin(self.ledger[entry].token.clone()),
            },
        };
        let exchange = flight.recorded.zip(self.record.as_mut());
        if let Some((nth, record)) = exchange {
            record[nth].answer = Some(answered);
        }
    }

    /// What the real answer does to the pin, which has to be what is wished.
    fn settled(&mut self, flight: &Flight) -> Check<Carries> {
        let replica = flight.replica;
        let newest = Rc::clone(&self.replicas[replica].state);
        let now = self.clock(replica);
        let decision = &flight.decision;
        let view = self.replicas[replica].view();
        let served_by = flight.served_by();
        let answer = Answer {
            decision,
            rollout: &flight.state.rollout,
            ready: &view,
            at: flight.at,
            lifetimes: lifetimes(),
            said: flight.said,
            served_by: served_by.as_ref(),
            streams: flight.streams,
        };
        let is_aborted = |id: &GroupId| newest.rollout.is_aborted(id, now);
        let settled = self.parts.settle(&answer, &is_aborted);
        let reached = &mut self.trace.reached;
        reached.request_in_flight_across_a_swap +=
            u64::from(newest.rollout.revision() > flight.state.rollout.revision());
        let over = decision.pin.as_ref().is_some_and(|pin| now >= pin.expires);
        reached.expiry_between_decision_and_answer += u64::from(over);
        let out = newest.model.is_out(flight.group, now.as_millis());
        let first = Wish::is_first(flight);
        let sight = Sight {
            now: now.as_millis(),
            down: view.down,
            endpoints: view.endpoints,
            proved: false,
            behind_since: 0,
        };
        let wish = Wish::of(flight, &sight);
        reached.said_while_behind += u64::from(decision.cause == Cause::Behind && flight.speaks());
        let pin = match settled {
            Settled::Cleared if wish.clears => {
                reached.ended_by_its_application += 1;
                return Ok(Carries::Clearing);
            }
            _ if wish.clears => {
                return Violation::of("the pin", format!("not cleared: {settled:?}"));
            }
            Settled::Written(_) if out && !first => {
                return Violation::of(
                    "I2 abort",
                    format!("an answer writes a pin to an aborted group: {settled:?}"),
                );
            }
            Settled::Written(pin) if wish.writes => pin,
            Settled::Kept if !wish.writes => {
                reached.released_too_early += u64::from(flight.said.release);
                return Ok(Carries::Nothing);
            }
            Settled::Kept if out && !first => {
                reached.withdrawn_at_the_answer += 1;
                return Ok(Carries::Nothing);
            }
            _ => return Violation::of("the pin", format!("{decision:?}: {settled:?}")),
        };
        reached.first_pin_into_an_abort += u64::from(out);
        reached.stream_extended_its_pin += u64::from(flight.streams);
        reached.released += u64::from(wish.releases);
        reached.move_seen += u64::from(wish.sees);
        let left = flight.home.own().filter(|_| wish.takes);
        reached.endpoint_left_on_the_way += u64::from(left.is_some());
        if let Some(objection) = wish.objection(flight, &pin) {
            return Violation::of("the pin", format!("{objection}: {decision:?}, {pin:?}"));
        }
        self.note_pin(replica, &pin);
        let token = self.codec(replica).seal(&pin).token;
        if token.is_empty() || token.len() > 512 {
            return Violation::of("the pin", format!("a token of {} bytes", token.len()));
        }
        self.trace.mix(token.as_bytes());
        let key = signing_key(self.replicas[replica].epoch);
        let Some(entry) = Entry::new(&pin, wish.endpoint(flight), token, key) else {
            return Violation::of("the pin", format!("{pin:?} names no known group"));
        };
        self.ledger.push(entry);
        Ok(Carries::Pin(self.ledger.len() - 1))
    }

    /// A cookie, or its clearing, comes to the client.
    pub(crate) fn arrive(&mut self, client: usize, pin: Option<usize>) {
        let now = self.now;
        let Some(entry) = pin else {
            self.clients[client].take(None, &self.ledger, now);
            return;
        };
        let new = &self.ledger[entry];
        // `Max-Age` counts from the answer's decision, by the client's own clock
        let until = now + new.expires.saturating_sub(new.issued);
        if let Some(held) = self.clients[client].holds(now) {
            let held = &self.ledger[held];
            let overtaken = held.session == new.session && held.moves > new.moves;
            self.trace.reached.refresh_overtaking_a_moved_pin += u64::from(overtaken);
        }
        self.trace.mix_numbers(&[client as u64, entry as u64]);
        self.clients[client].take(Some((entry, until)), &self.ledger, now);
        let new = &self.ledger[entry];
        if let Some(left) = new.left
            && self.clients[client].newest
            // of an abort that not all replicas know, nothing is promised
            && self.promised.get(&left).is_some_and(|from| new.revision >= *from)
            && self.clients[client].holds(now) == Some(entry)
        {
            let session = self.history.of(new.session);
            if !session.left.contains(&left) {
                session.left.push(left);
            }
        }
    }
}
