//! Answers, and the cookies that arrive with them.

use std::rc::Rc;

use tower_affinity_core::{Answer, GroupId, Kind, Said, Settled};

use crate::sim::Violation;
use crate::sim::flight::Flight;
use crate::sim::ledger::Entry;
use crate::sim::names::{lifetimes, signing_key};
use crate::sim::oracle;
use crate::sim::world::{Check, Event, World};

impl World<'_> {
    /// An answer comes back from the endpoint to the replica.
    pub(crate) fn answer(&mut self, flight: &Flight) -> Check {
        let client = &mut self.clients[flight.client];
        client.in_flight = client.in_flight.saturating_sub(1);
        if self.replicas[flight.replica].lives != flight.life {
            return Ok(());
        }
        let Some(kept) = self.settle(flight)? else {
            return Ok(());
        };
        let lost = self.faults && self.dice.chance(50);
        if !lost {
            let delay = if self.faults {
                self.dice.within(0, 300)
            } else {
                0
            };
            self.after(delay, Event::Arrive(flight.client, Some(kept)));
        }
        Ok(())
    }

    /// The entry of the pin that the answer carries, if it carries one.
    pub(crate) fn settle(&mut self, flight: &Flight) -> Check<Option<usize>> {
        let replica = flight.replica;
        let newest = Rc::clone(&self.replicas[replica].state);
        let now = self.clock(replica);
        let decision = &flight.decision;
        let answer = Answer {
            decision,
            rollout: &flight.state.rollout,
            ready: &self.replicas[replica].view(),
            at: flight.at,
            lifetimes: lifetimes(),
            said: Said::default(),
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
        let first = decision.kind == Kind::Assigned;
        let wished = oracle::writes(decision, flight.streams);
        let pin = match settled {
            Settled::Written(_) if out && !first => {
                return Violation::of(
                    "I2 abort",
                    format!("an answer writes a pin to an aborted group: {settled:?}"),
                );
            }
            Settled::Written(pin) if wished => pin,
            Settled::Kept if !wished => return Ok(None),
            Settled::Kept if out && !first => {
                reached.withdrawn_at_the_answer += 1;
                return Ok(None);
            }
            _ => return Violation::of("the pin", format!("{decision:?}: {settled:?}")),
        };
        reached.first_pin_into_an_abort += u64::from(out);
        if flight.streams {
            reached.stream_extended_its_pin += 1;
            if !oracle::streams_on(&pin) {
                return Violation::of("the pin", format!("a stream leaves {pin:?}"));
            }
        }
        let token = self.codec(replica).seal(&pin).token;
        if token.is_empty() || token.len() > 512 {
            return Violation::of("the pin", format!("a token of {} bytes", token.len()));
        }
        self.trace.mix(token.as_bytes());
        let key = signing_key(self.replicas[replica].epoch);
        let Some(entry) = Entry::new(&pin, token, key) else {
            return Violation::of("the pin", format!("{pin:?} names no known group"));
        };
        self.ledger.push(entry);
        Ok(Some(self.ledger.len() - 1))
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
            && self.clients[client].holds(now) == Some(entry)
        {
            let session = self.history.of(new.session);
            if !session.left.contains(&left) {
                session.left.push(left);
            }
        }
    }
}
