//! A client: what it holds, and what it ever got.

use super::ledger::Entry;
use super::names::Millis;

/// How many old pins a client can come back with.
const KEPT: usize = 12;

#[derive(Debug)]
pub(super) struct Client {
    /// Whether the newest pin wins; else the one that arrives last, as in a browser.
    pub(super) newest: bool,
    /// The pin that it sends, and until when it keeps it.
    held: Option<(usize, Millis)>,
    pub(super) got: Vec<usize>,
    pub(super) away_until: Millis,
    pub(super) in_flight: u32,
    /// Sessions that are over, as who keeps the newest pin knows: a late answer brings none back.
    over: Vec<u128>,
}

impl Client {
    pub(super) fn new(newest: bool) -> Self {
        Self {
            newest,
            held: None,
            got: Vec::new(),
            away_until: 0,
            in_flight: 0,
            over: Vec::new(),
        }
    }

    pub(super) fn holds(&self, now: Millis) -> Option<usize> {
        self.held
            .filter(|(_, until)| now < *until)
            .map(|(pin, _)| pin)
    }

    /// Takes in an answer: a pin with the time until when it is kept, or a clearing.
    pub(super) fn take(&mut self, arrived: Option<(usize, Millis)>, ledger: &[Entry], now: Millis) {
        let Some((pin, until)) = arrived else {
            if let Some(held) = self.holds(now).filter(|_| self.newest) {
                self.over.push(ledger[held].session);
                self.got.clear();
            }
            self.held = None;
            return;
        };
        if self.over.contains(&ledger[pin].session) {
            return;
        }
        self.got.push(pin);
        if self.got.len() > KEPT {
            self.got.remove(0);
        }
        // a new session replaces the one whose pin was not taken; a late answer never brings it back
        let older = |held: usize| match (&ledger[pin], &ledger[held]) {
            (new, held) if new.session == held.session => new.rank() < held.rank(),
            (new, held) => new.started < held.started,
        };
        if !(self.newest && self.holds(now).is_some_and(older)) {
            self.held = Some((pin, until));
        }
    }
}
