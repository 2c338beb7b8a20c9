//! Any request of any client, and where it goes on.

use tower_affinity_core::{Cause, Kind, Level, OnGone, OnStep, Outcomes, Policy, Said, Timestamp};

use super::MINUTE;
use crate::sim::flight::Flight;
use crate::sim::names::{Millis, TA, id_of, lifetimes};
use crate::sim::traffic::{Ask, Decided, Sent};
use crate::sim::world::{Check, Event, World};

impl World<'_> {
    pub(crate) fn any_request(&mut self) -> Check {
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
        if self.is_gone(replica) {
            return Ok(());
        }
        let policy = self.any_policy();
        let sent = self.any_candidates(client);
        let grant = if self.dice.chance(25) {
            self.any_grant(replica)
        } else {
            None
        };
        let ask = Ask {
            client,
            replica,
            policy,
            grant,
        };
        let decided = self.request(&ask, &sent)?;
        self.follow_up(client, replica, decided)
    }

    pub(crate) fn any_policy(&mut self) -> Policy {
        let (level, on_gone) = match self.dice.below(100) {
            0..=83 => (Level::Group, OnGone::Move),
            84..=89 => (Level::Group, OnGone::Strict),
            90..=95 => (Level::Follow, OnGone::Move),
            96 | 97 => (Level::Connection, OnGone::Move),
            _ => (Level::None, OnGone::Move),
        };
        let levels = self.levels.as_mut().filter(|_| level == Level::Group);
        let level = match levels.is_some_and(|levels| levels.chance(700)) {
            true => Level::Endpoint,
            false => level,
        };
        let on_step = if self.dice.chance(100) {
            OnStep::Reassign
        } else {
            OnStep::Keep
        };
        Policy {
            level,
            on_gone,
            on_step,
            lifetimes: lifetimes(),
            ..Policy::default()
        }
    }

    pub(crate) fn any_candidates(&mut self, client: usize) -> Vec<Sent> {
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

    /// Sends a decided request on to its group, or our own answer back.
    pub(crate) fn follow_up(&mut self, client: usize, replica: usize, decided: Decided) -> Check {
        let Decided {
            decision,
            state,
            at,
            recorded,
            home,
            ..
        } = decided;
        match decision.kind {
            Kind::Refused if matches!(decision.cause, Cause::AbortedEnd | Cause::Gone) => {
                let delay = self.dice.within(0, 300);
                self.after(delay, Event::Arrive(client, None));
            }
            Kind::Refused | Kind::Bypassed => {}
            Kind::Assigned | Kind::Pinned | Kind::Moved | Kind::Overridden => {
                let Some(group) = decision.group.as_ref().map(id_of) else {
                    return Ok(());
                };
                if !self.is_up(usize::from(group.0)) {
                    return Ok(());
                }
                let served = self.serves(replica, &decision, home.own())?;
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
                    home,
                    served,
                    state,
                    at,
                    recorded,
                    streams: self.dice.chance(30),
                    said: Said {
                        end: self.dice.chance(10),
                        release: self.dice.chance(60),
                        moved_seen: self.dice.chance(60),
                        outcomes: self.outcomes_at(at),
                    },
                    decision,
                };
                self.clients[client].in_flight += 1;
                self.tickets += 1;
                let ticket = self.tickets;
                self.flights.insert(ticket, flight);
                self.after(takes, Event::Answer(ticket));
            }
        }
        Ok(())
    }

    /// What has become of a session by the answer to a request at that time: mostly nothing.
    fn outcomes_at(&self, at: Timestamp) -> Outcomes {
        match at.as_millis() % 40 {
            7 if self.turns_out => Outcomes::FAILED,
            8 if self.turns_out => Outcomes::COMPLETED,
            _ => Outcomes::default(),
        }
    }
}
