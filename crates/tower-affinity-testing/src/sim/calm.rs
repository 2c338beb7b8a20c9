//! The end of a run: the faults have stopped.

use tower_affinity_core::{AbortPolicy, Cause, Kind, Level, Said};

use super::Violation;
use super::flight::Flight;
use super::model::Life;
use super::names::{GROUPS, Id, Millis, SKEW, TA, id_of};
use super::parts::Order;
use super::place::Place;
use super::step::plain;
use super::traffic::Carries;
use super::world::{Check, Event, Source, World};

/// Who has served a request.
#[derive(Clone, Copy, Debug)]
struct Served {
    id: Id,
    kind: Kind,
    /// The endpoint of a session that is bound to one.
    by: Option<Place>,
}

impl World<'_> {
    /// I15: once the faults stop, everything is normal again.
    pub(super) fn calm(&mut self) -> Check {
        self.faults = false;
        for group in 0..GROUPS {
            self.endpoints[group]
                .iter_mut()
                .for_each(|pod| pod.up = true);
            for replica in 0..self.replicas.len() {
                self.after(3_000, Event::Look(replica, group));
            }
        }
        for replica in 0..self.replicas.len() {
            self.replicas[replica].blind = None;
            self.replicas[replica].cut_until = 0;
            if self.is_gone(replica) {
                self.start(replica)?;
            }
            if self.source == Source::Engine {
                // what one contributes, the others read
                self.after(5_000, Event::Reread(replica));
                self.after(8_000, Event::Reread(replica));
            }
        }
        self.advance(6_000)?;
        while self.any_dispute() {
            self.look_at_disputes()?;
        }
        self.advance(4_000)?;
        self.settle_down()?;
        self.drain_all()
    }

    /// After one request of each client, every replica that it can reach serves it from one group, and
    /// from one endpoint where its session is bound to one.
    pub(super) fn settle_down(&mut self) -> Check {
        if !self.clocks_agree() {
            // a replica whose clock is that far off is not ready
            return Ok(());
        }
        let agree = self.source == Source::Engine;
        for client in 0..self.clients.len() {
            let mut home = None;
            self.drop_what_ends_soon(client);
            for turn in 0..3 * self.replicas.len() {
                let replica = turn % self.replicas.len();
                // replicas with files of their own agree on nothing: only one of them is asked
                let replica = if agree { replica } else { 0 };
                let served = self.ask_calmly(client, replica)?;
                // an ended session begins anew with its next request
                if turn < 2 {
                    home = served.map(|served| (served.id, served.by));
                    continue;
                }
                let ok = served.as_ref().is_some_and(|served| {
                    Some((served.id, served.by)) == home && served.kind == Kind::Pinned
                });
                // for some clocks the deadline of a stay is over, for others not yet
                if !ok && !home.is_some_and(|(id, _)| self.stays_end(id)) {
                    return Violation::of(
                        "I15 normal again",
                        format!("client {client} is served by {served:?}, not {home:?}"),
                    );
                }
            }
        }
        Ok(())
    }

    /// A pin that some clocks take for ended already cannot keep its session in one place.
    fn drop_what_ends_soon(&mut self, client: usize) {
        let soon = self.now + 2 * SKEW.as_millis() as Millis;
        if let Some(held) = self.clients[client].holds(self.now)
            && !self.ledger[held].is_valid(soon)
        {
            self.arrive(client, None);
        }
    }

    fn any_dispute(&self) -> bool {
        let mut replicas = self.replicas.iter();
        replicas.any(|replica| replica.held.iter().any(|held| held.claim.disputed))
    }

    fn stays_end(&self, id: Id) -> bool {
        let abort = self.head.model.aborts.get(&id);
        abort.is_some_and(|(abort, _)| match abort.policy {
            AbortPolicy::Stay { until } => {
                until.as_millis().abs_diff(self.now) <= 2 * SKEW.as_millis() as Millis
            }
            _ => false,
        })
    }

    pub(super) fn clocks_agree(&self) -> bool {
        let offsets = || self.replicas.iter().map(|replica| replica.offset);
        let apart = offsets().max().unwrap_or_default() - offsets().min().unwrap_or_default();
        apart <= SKEW.as_millis() as i64
    }

    fn ask_calmly(&mut self, client: usize, replica: usize) -> Check<Option<Served>> {
        let sent = self.held(client);
        let mut ask = plain(client, replica);
        if self.levels.is_some() && client % 2 == 1 {
            ask.policy.level = Level::Endpoint;
        }
        let decided = self.request(&ask, &sent)?;
        let decision = decided.decision;
        if decision.kind == Kind::Refused {
            if decision.cause == Cause::AbortedEnd {
                self.arrive(client, None);
            }
            return Ok(None);
        }
        let Some(group) = decision.group.as_ref().map(id_of) else {
            return Ok(None);
        };
        let kind = decision.kind;
        let served = self.serves(replica, &decision, decided.home.own())?;
        let flight = Flight {
            client,
            replica,
            life: self.replicas[replica].lives,
            group,
            home: decided.home,
            served,
            state: decided.state,
            at: decided.at,
            streams: false,
            said: Said::default(),
            recorded: None,
            decision,
        };
        if let Carries::Pin(pin) = self.settle(&flight)? {
            self.arrive(client, Some(pin));
        }
        let bound = flight.decision.endpoint_key.is_some();
        Ok(Some(Served {
            id: group,
            kind,
            by: served.filter(|_| bound),
        }))
    }

    /// I9: each draining group is drained once its bound is over.
    pub(super) fn drain_all(&mut self) -> Check {
        if self.source == Source::Files && self.replicas.len() > 1 {
            return Ok(());
        }
        // what was ordered last is known everywhere after a minute
        let known = 61_000;
        self.advance(TA.as_millis() as Millis + 4 * SKEW.as_millis() as Millis + known)?;
        // an order that came twice may have locked it meanwhile
        self.order(&Order::Lock(false))?;
        for _ in 0..2 {
            // what one says, the others hear
            self.beat_all();
        }
        for group in 0..GROUPS as u8 {
            let state = match self.source {
                Source::Engine => &self.head,
                Source::Files => &self.replicas[0].state,
            };
            if state.model.group(group).map(|group| group.life) == Some(Life::Draining)
                && !self.retires(group)?
            {
                return Violation::of("I9 drained at last", format!("g{group} never is"));
            }
        }
        Ok(())
    }

    fn retires(&mut self, group: u8) -> Check<bool> {
        let order = Order::Retire {
            group,
            force: false,
        };
        self.order(&order)?;
        let state = match self.source {
            Source::Engine => &self.head,
            Source::Files => &self.replicas[0].state,
        };
        let life = state.model.group(group).map(|group| group.life);
        Ok(matches!(life, Some(Life::Retired(_))))
    }

    /// An order to whoever holds the rollout, which is known there at once.
    fn order(&mut self, order: &Order) -> Check {
        match self.source {
            Source::Engine => self.order_at(0, order),
            Source::Files => self.obey(0, order),
        }
    }
}
