//! A plain store with a bug.

use std::sync::{Arc, Mutex};

use tower_affinity_core::{
    Claim, DrawKey, Lifetimes, LiveCounts, NoCounts, PinStore, RowFault, RowKey, SessionId,
    SessionPin, StoreCall, Terms, Timestamp, UnknownClaims,
};

use super::Bug;
use crate::store::PlainStore;
use crate::store::parts::{at, codec};

#[derive(Clone, Debug)]
pub(super) struct Broken {
    store: PlainStore,
    bug: Bug,
    capacity: usize,
    /// The last row that found no place before.
    newest: Arc<Mutex<Option<(RowKey, SessionId)>>>,
}

impl Broken {
    pub(super) fn new(bug: Bug, capacity: usize) -> Self {
        let capacity = match bug {
            Bug::GrowsOn => capacity * 2,
            _ => capacity,
        };
        Self {
            store: PlainStore::bounded(codec(), capacity),
            bug,
            capacity,
            newest: Arc::default(),
        }
    }

    /// Writes any bytes where a row is.
    pub(super) fn plant(&self, key: RowKey, row: Vec<u8>) {
        self.store.plant(key, row);
    }

    fn key(&self, key: RowKey) -> RowKey {
        match key {
            RowKey::Session(session) if self.bug == Bug::KindsCollide => {
                RowKey::Named(DrawKey::from(session))
            }
            key => key,
        }
    }

    fn terms(&self, terms: Terms) -> Terms {
        let Terms { now, lifetimes } = terms;
        match self.bug {
            Bug::IgnoresTheAge => Terms {
                now,
                lifetimes: long(lifetimes),
            },
            _ => terms,
        }
    }

    /// Writes whatever stands there.
    fn put(&self, key: RowKey, pin: &SessionPin) {
        self.store.plant(key, codec().encode(key, pin).into());
    }

    fn standing(&self, key: RowKey, terms: Terms) -> Option<SessionPin> {
        match self.store.load(key, terms) {
            StoreCall::Ready(Some(Ok(standing))) => standing,
            _ => panic!("the plain store answers at once"),
        }
    }

    /// Reads, lets others go on, and writes then.
    fn slowly(
        &self,
        key: RowKey,
        terms: Terms,
        act: impl FnOnce(&Self, Option<SessionPin>) -> SessionPin + Send + 'static,
    ) -> StoreCall<SessionPin> {
        let store = self.clone();
        StoreCall::later(async move {
            let standing = store.standing(key, terms);
            tokio::task::yield_now().await;
            Ok(act(&store, standing))
        })
    }
}

impl PinStore for Broken {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        let (key, terms) = (self.key(key), self.terms(terms));
        if self.bug == Bug::EndsOnlyWhenSwept && self.standing(key, terms).is_none() {
            let now = at(0);
            return self.store.load(key, Terms { now, ..terms });
        }
        if self.bug == Bug::LoadTouches
            && let Some(standing) = self.standing(key, terms)
        {
            self.put(key, &standing.touched(terms.now, terms.lifetimes));
        }
        self.store.load(key, terms)
    }

    fn claim(&self, mut claim: Claim) -> StoreCall<SessionPin> {
        claim.key = self.key(claim.key);
        claim.terms = self.terms(claim.terms);
        let (key, terms) = (claim.key, claim.terms);
        let standing = self.standing(key, terms);
        match (self.bug, standing) {
            (Bug::EndedRowStandsInTheWay, None) => {
                let never = Terms {
                    now: claim.pin.started.min(at(0)),
                    ..terms
                };
                if let Some(ended) = self.standing(key, never) {
                    return StoreCall::ready(ended);
                }
            }
            (Bug::LastClaimWins, Some(_)) => {
                self.put(key, &claim.pin);
                return StoreCall::ready(claim.pin);
            }
            (Bug::ClaimIsNotAtomic, None) => {
                return self.slowly(key, terms, move |store, standing| {
                    let stands = standing.unwrap_or(claim.pin);
                    store.put(key, &stands);
                    stands
                });
            }
            (Bug::ClaimMovesSessions, Some(_)) => {
                return self.store.replace(key, claim.pin, terms);
            }
            (Bug::TouchesEveryTime, Some(standing)) => {
                let (revision, Terms { now, lifetimes }) = (standing.revision, terms);
                let touched = standing.renewed(revision, now, lifetimes);
                self.put(key, &touched);
                return StoreCall::ready(touched);
            }
            (Bug::NeverTouches, Some(standing)) => return StoreCall::ready(standing),
            (Bug::AnswersTheTouchOnly, Some(standing)) => {
                let touched = standing.touched(terms.now, terms.lifetimes);
                return StoreCall::ready(touched);
            }
            (Bug::TouchForgets, Some(standing)) => {
                let touched = SessionPin {
                    unknown: UnknownClaims::default(),
                    ..standing.touched(terms.now, terms.lifetimes)
                };
                self.put(key, &touched);
                return StoreCall::ready(touched);
            }
            (Bug::EvictsTheNewest, None) if self.store.len() >= self.capacity => {
                let newest = self
                    .newest
                    .lock()
                    .unwrap()
                    .replace((key, claim.pin.session));
                if let Some((key, session)) = newest.filter(|_| claim.evicts) {
                    drop(self.store.remove(key, session));
                }
            }
            (Bug::EvictsForAnybody, _) => claim.evicts = true,
            (Bug::NeverEvicts, _) => claim.evicts = false,
            _ => {}
        }
        self.store.claim(claim)
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        let (key, terms) = (self.key(key), self.terms(terms));
        let standing = self.standing(key, terms);
        let theirs = standing.as_ref().map(SessionPin::precedence);
        let order = Some(pin.precedence()).cmp(&theirs);
        let stands = match self.bug {
            Bug::ReplacementIsNotAtomic => {
                return self.slowly(key, terms, move |store, standing| {
                    let stands = match standing {
                        Some(standing) if !pin.supersedes(&standing) => standing,
                        Some(standing) => SessionPin {
                            expires: pin.expires.max(standing.expires),
                            ..pin
                        },
                        None => pin,
                    };
                    store.put(key, &stands);
                    stands
                });
            }
            Bug::SecondMoveStands if order.is_eq() => pin,
            Bug::ReplacesAlways => pin,
            Bug::EqualPinIsLost if order.is_eq() => {
                return StoreCall::ready(standing.unwrap_or(pin));
            }
            Bug::LoserHearsOfItself => {
                return self.store.replace(key, pin.clone(), terms).map(|_| pin);
            }
            Bug::LowersExpiries if order.is_gt() => pin,
            Bug::EvictsForNames if standing.is_none() => {
                let evicts = true;
                return self.store.claim(Claim {
                    key,
                    pin,
                    terms,
                    evicts,
                });
            }
            _ => return self.store.replace(key, pin, terms),
        };
        self.put(key, &stands);
        StoreCall::ready(stands)
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        let key = self.key(key);
        match self.bug {
            Bug::RemovesAnybody => self.store.plant(key, Vec::new()),
            Bug::RemovesNothing => {}
            _ => return self.store.remove(key, session),
        }
        StoreCall::ready(())
    }

    fn absent(&self, fault: RowFault) -> u64 {
        match self.bug {
            Bug::DoesNotTellWhatIsAbsent => 0,
            _ => self.store.absent(fault),
        }
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        match self.bug {
            Bug::CountsTheEnded => self.store.live(at(0)),
            Bug::CountsNothing => LiveCounts::Known(Arc::new(NoCounts)),
            _ => self.store.live(now),
        }
    }

    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        self.store.upkeep(now)
    }
}

/// The same, but a session lives for ever.
fn long(lifetimes: Lifetimes) -> Lifetimes {
    Lifetimes::new(lifetimes.idle(), std::time::Duration::MAX / 4).unwrap()
}
