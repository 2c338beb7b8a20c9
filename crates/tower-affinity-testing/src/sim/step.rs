//! One step: what happens next, drawn from the seed.

use std::rc::Rc;

use tower_affinity_core::{
    AbortPolicy, Cause, GroupId, Kind, Level, OnGone, Policy, Revision, SessionId, SessionPin,
    Timestamp,
};

use super::flight::Flight;
use super::names::{GROUPS, Millis, TA, TI, codec, id_of, lifetimes, name_of};
use super::traffic::{Decided, Sent};
use super::world::{Check, Event, Source, World};

const MINUTE: Millis = 60_000;

impl World<'_> {
    pub(super) fn step(&mut self) -> Check {
        match self.dice.below(100) {
            0..=57 => self.any_request(),
            58..=82 => {
                let span = self.any_span();
                self.advance(span)
            }
            83..=90 => self.endpoint_event(),
            91..=94 => self.operate(),
            95..=97 => {
                self.replica_event();
                Ok(())
            }
            98 if self.dice.chance(600) => self.at_a_deadline(),
            _ => self.at_an_edge(),
        }
    }

    fn any_span(&mut self) -> Millis {
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
    pub(super) fn advance(&mut self, span: Millis) -> Check {
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

    fn happen(&mut self, event: Event) -> Check {
        match event {
            Event::Deliver(replica, _) | Event::Reread(replica) if self.is_cut(replica) => {
                let wait = self.replicas[replica].cut_until - self.now;
                self.after(wait, Event::Reread(replica));
                Ok(())
            }
            Event::Deliver(replica, state) => self.accept(replica, state),
            Event::Reread(replica) => {
                let head = Rc::clone(&self.head);
                self.accept(replica, head)
            }
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

    fn any_request(&mut self) -> Check {
        let client = self.dice.below(self.clients.len());
        let (away, in_flight) = (
            self.clients[client].away_until > self.now,
            self.clients[client].in_flight,
        );
        if away || in_flight >= 6 {
            return Ok(());
        }
        if self.dice.chance(20) {
            // its user is done, and begins anew
            self.arrive(client, None);
        }
        if self.dice.chance(3) {
            self.clients[client].away_until = self.now + 2 * TA.as_millis() as Millis;
        }
        let replica = self.dice.below(self.replicas.len());
        let policy = self.any_policy();
        let sent = self.any_candidates(client);
        let decided = self.request(client, replica, policy, &sent)?;
        self.follow_up(client, replica, decided);
        Ok(())
    }

    fn any_policy(&mut self) -> Policy {
        let (level, on_gone) = match self.dice.below(100) {
            0..=83 => (Level::Group, OnGone::Move),
            84..=89 => (Level::Group, OnGone::Strict),
            90..=95 => (Level::Follow, OnGone::Move),
            96 | 97 => (Level::Connection, OnGone::Move),
            _ => (Level::None, OnGone::Move),
        };
        Policy {
            level,
            on_gone,
            lifetimes: lifetimes(),
            ..Policy::default()
        }
    }

    fn any_candidates(&mut self, client: usize) -> Vec<Sent> {
        let own = &self.clients[client];
        let held = own.holds(self.now).map(Sent::Issued);
        let old = own.got.get(self.dice.below(own.got.len())).copied();
        // who keeps the newest pin of a session does not show those of another one
        let fits = |old: &usize| {
            let session = |entry: usize| self.ledger[entry].session;
            !own.newest || own.holds(self.now).map(session) == Some(session(*old))
        };
        let old = old.filter(fits).map(Sent::Issued);
        match (self.dice.below(1000), held, old) {
            (0..=29, _, Some(old)) if !own.newest => vec![old],
            (30..=44, Some(held), Some(old)) => vec![old, held],
            (45..=59, Some(held), Some(old)) => vec![held, old],
            (60..=66, held, _) => {
                let forged = Sent::Forged(self.forged(held.as_ref()));
                vec![forged]
            }
            (67..=73, Some(held), _) => {
                let forged = Sent::Forged(self.forged(Some(&held)));
                vec![forged, held]
            }
            (74..=76, Some(held), _) => vec![held; 5],
            (_, held, _) => held.into_iter().collect(),
        }
    }

    /// Something that we did not sign.
    fn forged(&mut self, held: Option<&Sent>) -> String {
        let now = Timestamp::from_millis(self.now);
        let group = GroupId::new(name_of(0).clone(), 1);
        let session = SessionId::from_random(self.dice.bits());
        let pin = SessionPin::new(session, group, Revision(10), now, lifetimes());
        let mut text = held.map_or_else(
            || "e30.e30.e30".to_owned(),
            |held| self.text(held).to_owned(),
        );
        match self.dice.below(6) {
            0 | 1 => self.forger.seal(&pin).token,
            2 => self.neighbour.seal(&pin).token,
            3 => {
                let end = text.rfind('.').unwrap_or_default();
                let at = self.dice.below(end);
                let other = if text.as_bytes()[at] == b'A' {
                    "B"
                } else {
                    "A"
                };
                text.replace_range(at..=at, other);
                text
            }
            4 => {
                text.truncate(self.dice.below(text.len()));
                text
            }
            _ => text.repeat(3),
        }
    }

    /// Sends a decided request on to its group, or our own answer back.
    fn follow_up(&mut self, client: usize, replica: usize, decided: Decided) {
        let Decided {
            decision,
            state,
            at,
        } = decided;
        match decision.kind {
            Kind::Refused if matches!(decision.cause, Cause::AbortedEnd | Cause::Gone) => {
                let delay = self.dice.within(0, 300);
                self.after(delay, Event::Arrive(client, None));
            }
            Kind::Refused | Kind::Bypassed | Kind::Overridden => {}
            Kind::Assigned | Kind::Pinned | Kind::Moved => {
                let Some(group) = decision.group.as_ref().map(id_of) else {
                    return;
                };
                if !self.is_up(usize::from(group.0)) {
                    return;
                }
                let takes = match self.dice.below(100) {
                    0..=59 => self.dice.within(0, 50),
                    60..=84 => self.dice.within(0, 2_000),
                    85..=95 => self.dice.within(0, MINUTE),
                    _ => self.dice.within(0, 40 * MINUTE),
                };
                let flight = Flight {
                    client,
                    replica,
                    life: self.replicas[replica].lives,
                    group,
                    state,
                    at,
                    streams: self.dice.chance(30),
                    decision,
                };
                self.clients[client].in_flight += 1;
                self.tickets += 1;
                let ticket = self.tickets;
                self.flights.insert(ticket, flight);
                self.after(takes, Event::Answer(ticket));
            }
        }
    }

    fn endpoint_event(&mut self) -> Check {
        let group = self.dice.below(GROUPS);
        let endpoint = self.dice.below(self.endpoints[group].len());
        let up = self.dice.chance(800);
        self.endpoints[group][endpoint] = up;
        for replica in 0..self.replicas.len() {
            let delay = self.dice.within(0, 3_000);
            self.after(delay, Event::Look(replica, group));
        }
        Ok(())
    }

    /// A replica's health check comes to a group.
    pub(super) fn look(&mut self, replica: usize, group: usize) {
        let now = self.clock(replica).as_millis();
        let up = self.is_up(group);
        let down = &mut self.replicas[replica].down[group];
        *down = if up { None } else { down.or(Some(now)) };
    }

    fn replica_event(&mut self) {
        let at = self.dice.below(self.replicas.len());
        let now = self.clock(at).as_millis();
        match self.dice.below(10) {
            0 => {
                let replica = &mut self.replicas[at];
                replica.blind = replica.blind.or(Some(now));
            }
            1 | 2 => self.replicas[at].blind = None,
            3 | 4 => {
                self.replicas[at].stepped += if self.dice.chance(500) {
                    3_600_000
                } else {
                    -3_600_000
                }
            }
            5 | 6 => {
                let lost = self.flights.values().any(|flight| flight.replica == at);
                self.trace.reached.crash_with_requests_in_flight += u64::from(lost);
                let replica = &mut self.replicas[at];
                replica.lives += 1;
                replica.behind = None;
                replica.blind = None;
            }
            _ => self.rotate(at),
        }
    }

    /// One replica takes the next step of a rotation: all of them verify with a key before one of
    /// them signs with it, and it leaves when no pin of it can be valid.
    fn rotate(&mut self, at: usize) {
        let least = self
            .replicas
            .iter()
            .map(|replica| replica.epoch)
            .min()
            .unwrap_or_default();
        let most = self
            .replicas
            .iter()
            .map(|replica| replica.epoch)
            .max()
            .unwrap_or_default();
        let own = self.replicas[at].epoch;
        if own != least || own >= 16 {
            return;
        }
        if least == most {
            if self.now < self.rotated_at + TA.as_millis() as Millis + 10 * MINUTE {
                return;
            }
            if self.codecs.len() <= own + 1 {
                self.codecs.push(Rc::new(codec(own + 1)));
            }
        }
        self.replicas[at].epoch = own + 1;
        self.rotated_at = self.now;
    }

    /// The deadline of a `stay` is over for the clock that is ahead and not for the one behind it;
    /// a client with a session there asks both, the one behind with the newer state.
    fn at_a_deadline(&mut self) -> Check {
        let by_clock = |replica: &usize| self.replicas[*replica].offset;
        let (Some(ahead), Some(behind)) = (
            (0..self.replicas.len()).max_by_key(by_clock),
            (0..self.replicas.len()).min_by_key(by_clock),
        ) else {
            return Ok(());
        };
        let stay = |client: usize| {
            let id = self.ledger[self.clients[client].holds(self.now)?].id;
            let (abort, _) = self.replicas[ahead].state.model.aborts.get(&id)?;
            match abort.policy {
                AbortPolicy::Stay { until } => Some((client, until)),
                _ => None,
            }
        };
        let stays: Vec<_> = (0..self.clients.len()).filter_map(stay).collect();
        let Some((client, until)) = stays.get(self.dice.below(stays.len())).copied() else {
            return Ok(());
        };
        let offset = self.replicas[ahead].offset;
        let over = until.as_millis().saturating_add_signed(-offset) + self.dice.within(0, 500);
        if over < self.now {
            return Ok(());
        }
        self.replicas[ahead].cut_until = over + 1_000;
        self.operate()?;
        self.advance(over - self.now)?;
        let policy = in_groups();
        let sent: Vec<Sent> = self.held(client);
        for replica in [behind, ahead] {
            let decided = self.request(client, replica, policy, &sent)?;
            self.follow_up(client, replica, decided);
        }
        Ok(())
    }

    fn held(&self, client: usize) -> Vec<Sent> {
        let held = self.clients[client].holds(self.now);
        held.map(Sent::Issued).into_iter().collect()
    }

    /// The clock stops exactly where a pin becomes due, or ends, and its client asks then.
    fn at_an_edge(&mut self) -> Check {
        let client = self.dice.below(self.clients.len());
        let Some(held) = self.clients[client].holds(self.now) else {
            return Ok(());
        };
        let replica = self.dice.below(self.replicas.len());
        let entry = &self.ledger[held];
        let due = entry.issued + TI.as_millis() as Millis / 4;
        let edge = if self.dice.chance(700) {
            due
        } else {
            entry.expires
        };
        let edge = edge + self.dice.within(0, 2) - 1;
        let by_true_time = edge.saturating_add_signed(-self.replicas[replica].offset);
        if by_true_time > self.now {
            self.advance(by_true_time - self.now)?;
        }
        let (policy, sent) = (in_groups(), self.held(client));
        let decided = self.request(client, replica, policy, &sent)?;
        self.follow_up(client, replica, decided);
        Ok(())
    }

    /// I15: once the faults stop, everything is normal again.
    pub(super) fn calm(&mut self) -> Check {
        self.faults = false;
        for group in 0..GROUPS {
            self.endpoints[group].fill(true);
            for replica in 0..self.replicas.len() {
                self.after(3_000, Event::Look(replica, group));
            }
        }
        for replica in 0..self.replicas.len() {
            self.replicas[replica].blind = None;
            self.replicas[replica].cut_until = 0;
            if self.source == Source::Engine {
                self.after(5_000, Event::Reread(replica));
            }
        }
        self.advance(10_000)?;
        self.settle_down()?;
        self.drain_all()
    }
}

/// What most scopes ask for.
pub(super) fn in_groups() -> Policy {
    Policy {
        lifetimes: lifetimes(),
        ..Policy::default()
    }
}
