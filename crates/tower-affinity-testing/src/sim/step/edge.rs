//! Requests at the very moments at which something changes.

use tower_affinity_core::{AbortPolicy, Policy};

use crate::sim::names::{Millis, TI, lifetimes};
use crate::sim::traffic::{Ask, Sent};
use crate::sim::world::{Check, World};

impl World<'_> {
    /// The deadline of a `stay` is over for the clock that is ahead and not for the one behind it;
    /// a client with a session there asks both, the one behind with the newer state.
    pub(crate) fn at_a_deadline(&mut self) -> Check {
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
        if over < self.now || self.is_gone(ahead) || self.is_gone(behind) {
            return Ok(());
        }
        self.replicas[ahead].cut_until = over + 1_000;
        self.operate()?;
        self.advance(over - self.now)?;
        let sent: Vec<Sent> = self.held(client);
        for replica in [behind, ahead] {
            if self.is_gone(replica) {
                continue;
            }
            let decided = self.request(&plain(client, replica), &sent)?;
            self.follow_up(client, replica, decided)?;
        }
        Ok(())
    }

    pub(crate) fn held(&self, client: usize) -> Vec<Sent> {
        let held = self.clients[client].holds(self.now);
        held.map(Sent::Issued).into_iter().collect()
    }

    /// The clock stops exactly where a pin becomes due, or ends, and its client asks then.
    pub(crate) fn at_an_edge(&mut self) -> Check {
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
        if self.is_gone(replica) {
            return Ok(());
        }
        let sent = self.held(client);
        let decided = self.request(&plain(client, replica), &sent)?;
        self.follow_up(client, replica, decided)
    }
}

/// A request for what most scopes ask for.
pub(crate) fn plain(client: usize, replica: usize) -> Ask {
    let policy = Policy {
        lifetimes: lifetimes(),
        ..Policy::default()
    };
    Ask {
        client,
        replica,
        policy,
        grant: None,
    }
}
