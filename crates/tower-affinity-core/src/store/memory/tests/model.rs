//! What a store of one shard has to answer: the contract over a plain map.

use std::collections::BTreeMap;

use crate::{
    Claim, EndpointId, EndpointRef, GroupId, GroupRef, RowKey, SessionId, SessionPin, Terms,
    Timestamp, is_current,
};

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) rows: BTreeMap<RowKey, Row>,
    pub(super) capacity: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) pin: SessionPin,
    /// By its expiry and by the lifetimes under which it was written.
    pub(super) ends: Timestamp,
}

/// What a call leaves open: which of several rows goes that end at once.
pub(super) type Evicted = Vec<RowKey>;

impl Model {
    pub(super) fn load(&self, key: RowKey, terms: Terms) -> Option<SessionPin> {
        let pin = &self.rows.get(&key)?.pin;
        is_current(pin, terms).is_ok().then(|| pin.clone())
    }

    pub(super) fn claim(&mut self, claim: Claim) -> (SessionPin, Evicted) {
        let Claim {
            key,
            pin,
            terms,
            evicts,
        } = claim;
        match self.standing(key, terms) {
            Some(standing) => {
                let pin = standing.clone().touched(terms.now, terms.lifetimes);
                if pin != standing {
                    self.put(key, &pin, terms);
                }
                (pin, Vec::new())
            }
            None => {
                let touched = pin.clone().touched(terms.now, terms.lifetimes);
                match self.insert(key, &touched, &pin, terms, evicts) {
                    Some(evicted) => (touched, evicted),
                    None => (pin, Vec::new()),
                }
            }
        }
    }

    pub(super) fn replace(
        &mut self,
        key: RowKey,
        pin: SessionPin,
        terms: Terms,
    ) -> (SessionPin, Evicted) {
        match self.standing(key, terms) {
            Some(standing) if is_current(&pin, terms).is_ok() && pin.supersedes(&standing) => {
                let mut pin = pin;
                pin.expires = pin.expires.max(standing.expires);
                self.put(key, &pin, terms);
                (pin, Vec::new())
            }
            Some(standing) => (standing, Vec::new()),
            None => {
                let evicted = self.insert(key, &pin, &pin, terms, key.may_displace());
                (pin, evicted.unwrap_or_default())
            }
        }
    }

    pub(super) fn remove(&mut self, key: RowKey, session: SessionId) {
        self.rows
            .retain(|of, row| *of != key || row.pin.session != session);
    }

    pub(super) fn sweep(&mut self, now: Timestamp) {
        self.rows
            .retain(|_, row| row.ends.as_secs() > now.as_secs());
    }

    pub(super) fn live(&self, group: &GroupId, endpoint: Option<&EndpointId>) -> u64 {
        let lives = |pin: &SessionPin| {
            let there = pin.endpoint.as_ref().and_then(EndpointRef::known);
            pin.group == GroupRef::Known(group.clone())
                && endpoint.is_none_or(|endpoint| there == Some(endpoint))
        };
        self.rows.values().filter(|row| lives(&row.pin)).count() as u64
    }

    fn standing(&mut self, key: RowKey, terms: Terms) -> Option<SessionPin> {
        let standing = self.load(key, terms);
        if standing.is_none() {
            self.rows.remove(&key);
        }
        standing
    }

    /// The rows of which one has gone for it; `None` if the pin was not kept.
    fn insert(
        &mut self,
        key: RowKey,
        pin: &SessionPin,
        offered: &SessionPin,
        terms: Terms,
        evicts: bool,
    ) -> Option<Evicted> {
        is_current(offered, terms).ok()?;
        if self.rows.len() >= self.capacity {
            self.sweep(terms.now);
        }
        let mut evicted = Vec::new();
        if self.rows.len() >= self.capacity {
            let next = self.rows.values().map(|row| row.ends).min()?;
            let of_next = self.rows.iter().filter(|(_, row)| row.ends == next);
            evicted = of_next.map(|(key, _)| *key).collect();
            if !evicts {
                return None;
            }
        }
        self.put(key, pin, terms);
        Some(evicted)
    }

    fn put(&mut self, key: RowKey, pin: &SessionPin, terms: Terms) {
        let ends = pin.expires.min(pin.started.plus(terms.lifetimes.max_age()));
        let pin = pin.clone();
        self.rows.insert(key, Row { pin, ends });
    }
}
