//! Requests, decisions, answers, and cookies that arrive.

mod answer;
mod check;
mod decide;
mod meet;
mod read;

pub(crate) use self::answer::Carries;

use std::rc::Rc;

use tower_affinity_core::{Decision, Policy, Timestamp};

use crate::sim::grant::Grant;
use crate::sim::names::id_of;
use crate::sim::oracle::Home;
use crate::sim::record::Exchange;
use crate::sim::replica::State;
use crate::sim::world::{Check, World};

/// Something that a client sends as a pin.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    Issued(usize),
    Forged(String),
}

/// A request, but for the pins that it carries.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) client: usize,
    pub(crate) replica: usize,
    pub(crate) policy: Policy,
    pub(crate) grant: Option<Grant>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) decision: Decision,
    pub(crate) state: Rc<State>,
    pub(crate) at: Timestamp,
    /// Whether the replica waited in vain for a newer state.
    pub(crate) waited: bool,
    /// What becomes of the session's endpoint.
    pub(crate) home: Home,
    pub(crate) recorded: Option<usize>,
}

impl World<'_> {
    pub(crate) fn text<'a>(&'a self, sent: &'a Sent) -> &'a str {
        match sent {
            Sent::Issued(entry) => &self.ledger[*entry].token,
            Sent::Forged(text) => text,
        }
    }

    /// A client sends a request to a replica, which decides it at once.
    pub(crate) fn request(&mut self, ask: &Ask, sent: &[Sent]) -> Check<Decided> {
        let (client, replica, policy) = (ask.client, ask.replica, ask.policy);
        let at = self.taken(replica);
        let right_now = self.clock(replica).as_millis();
        let valid = self.valid(sent, right_now);
        let shown = self.read(replica, sent, at);
        let entry = self.check_chosen((replica, at), sent, &valid, &shown, policy.level)?;
        let mut decided = self.decide(ask, shown, entry.as_ref(), at, right_now)?;
        let decision = &decided.decision;
        let group = decision.group.as_ref().map(id_of);
        self.trace.mix_numbers(&[
            client as u64,
            replica as u64,
            self.now,
            decision.kind as u64,
            decision.cause as u64,
        ]);
        self.trace.mix_numbers(&[
            group.map_or(99, |id| u64::from(id.0)),
            u64::from(decision.issue),
        ]);
        self.trace.tell(|| {
            format!(
                "client {client} sends {:?} {:?} to replica {replica} (revision {}): {}/{} {group:?}",
                entry.as_ref().map(|entry| (
                    entry.session >> 112,
                    entry.id,
                    entry.revision,
                    entry.moves
                )),
                ask.grant.as_ref().map(|grant| (grant.id, grant.sticky, grant.valid)),
                decided.state.rollout.revision(),
                decision.kind.as_str(),
                decision.cause.as_str(),
            )
        });
        if policy.level.has_session() {
            self.check_history(client, replica, entry.as_ref(), &decided)?;
        }
        self.place(replica, entry.as_ref(), &decided.decision);
        self.reach(entry.as_ref(), &decided, ask);
        decided.recorded = self.recorded(ask, sent, &decided);
        Ok(decided)
    }

    fn recorded(&mut self, ask: &Ask, sent: &[Sent], decided: &Decided) -> Option<usize> {
        if decided.waited || self.record.is_none() {
            return None;
        }
        let exchange = Exchange {
            pins: sent.iter().map(|sent| self.text(sent).to_owned()).collect(),
            grant: ask.grant.as_ref().map(|grant| grant.token.clone()),
            policy: ask.policy,
            seen: self.sees(ask.replica, &decided.state.rollout, decided.at),
            decision: decided.decision.clone(),
            answer: None,
        };
        let record = self.record.as_mut()?;
        record.push(exchange);
        Some(record.len() - 1)
    }
}
