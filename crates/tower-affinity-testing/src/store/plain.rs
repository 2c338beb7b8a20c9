//! [`PlainStore`]: a store that is right because it is plain.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tower_affinity_core::{
    Claim, EndpointId, EndpointRef, GroupId, Live, LiveCounts, PinStore, RowCodec, RowFault,
    RowKey, SessionId, SessionPin, StoreCall, Terms, Timestamp,
};

/// A store in memory behind one lock, which reads and writes rows as a store outside of the process
/// does. It never sweeps. Its clones are ways to the same store.
#[derive(Clone)]
pub struct PlainStore {
    codec: RowCodec,
    capacity: usize,
    place: Arc<Mutex<Place>>,
}

#[derive(Default)]
struct Place {
    rows: BTreeMap<RowKey, Row>,
    absent: HashMap<RowFault, u64>,
}

struct Row {
    /// When it can be let go at the latest.
    ends: Timestamp,
    text: Vec<u8>,
}

impl PlainStore {
    /// An empty store without bound for the rows of `codec`.
    #[must_use]
    pub fn new(codec: RowCodec) -> Self {
        Self::bounded(codec, usize::MAX)
    }

    /// An empty store that keeps at most `capacity` rows.
    #[must_use]
    pub fn bounded(codec: RowCodec, capacity: usize) -> Self {
        Self {
            codec,
            capacity,
            place: Arc::default(),
        }
    }

    /// Writes any bytes where the row of `key` is.
    pub fn plant(&self, key: RowKey, row: Vec<u8>) {
        let row = Row {
            ends: Timestamp::default(),
            text: row,
        };
        self.place().rows.insert(key, row);
    }

    /// How many rows it holds, ended ones and others that do not count included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.place().rows.len()
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The row that stands; what does not is counted.
    fn standing(&self, place: &mut Place, key: RowKey, terms: Terms) -> Option<SessionPin> {
        let row = place.rows.get(&key)?;
        match self.codec.decode(key, &row.text, terms) {
            Ok(pin) => Some(pin),
            Err(fault) => {
                *place.absent.entry(fault).or_default() += 1;
                None
            }
        }
    }

    /// Stores a row if there is room, or if one may be made.
    fn store(&self, place: &mut Place, key: RowKey, pin: &SessionPin, terms: Terms, evicts: bool) {
        if !place.rows.contains_key(&key) && place.rows.len() >= self.capacity {
            let rows = place.rows.iter().map(|(key, row)| (row.ends, *key));
            let Some((ends, gone)) = rows.min() else {
                return;
            };
            if !evicts && ends > terms.now {
                return;
            }
            place.rows.remove(&gone);
        }
        let row = Row {
            ends: pin.expires,
            text: self.codec.encode(key, pin).into(),
        };
        place.rows.insert(key, row);
    }
}

impl PinStore for PlainStore {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        StoreCall::ready(self.standing(&mut self.place(), key, terms))
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        let (key, terms) = (claim.key, claim.terms);
        let place = &mut *self.place();
        let stands = match self.standing(place, key, terms) {
            Some(standing) if !standing.is_due(terms.now, terms.lifetimes) => standing,
            Some(standing) => {
                let touched = standing.touched(terms.now, terms.lifetimes);
                self.store(place, key, &touched, terms, true);
                touched
            }
            None => {
                self.store(place, key, &claim.pin, terms, claim.evicts);
                claim.pin
            }
        };
        StoreCall::ready(stands)
    }

    fn replace(&self, key: RowKey, mut pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        let place = &mut *self.place();
        match self.standing(place, key, terms) {
            Some(standing) if !pin.supersedes(&standing) => return StoreCall::ready(standing),
            Some(standing) => pin.expires = pin.expires.max(standing.expires),
            None => {}
        }
        self.store(place, key, &pin, terms, key.may_displace());
        StoreCall::ready(pin)
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        let place = &mut *self.place();
        let id = format!("\"sid\":\"{session}\"");
        let is_of_session = |row: &Row| {
            let mut parts = row.text.windows(id.len());
            parts.any(|part| part == id.as_bytes())
        };
        if place.rows.get(&key).is_some_and(is_of_session) {
            place.rows.remove(&key);
        }
        StoreCall::ready(())
    }

    fn absent(&self, fault: RowFault) -> u64 {
        self.place().absent.get(&fault).copied().unwrap_or_default()
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        let terms = Terms {
            now,
            lifetimes: tower_affinity_core::Lifetimes::default(),
        };
        let place = self.place();
        let pins = place
            .rows
            .iter()
            .map(|(key, row)| self.codec.decode(*key, &row.text, terms));
        let pins: Vec<SessionPin> = pins.filter_map(Result::ok).collect();
        LiveCounts::Known(Arc::new(Counted(pins)))
    }

    fn upkeep(&self, _: Timestamp) -> StoreCall<()> {
        StoreCall::ready(())
    }
}

/// Every live pin, counted when it is asked for.
struct Counted(Vec<SessionPin>);

impl Counted {
    fn of_group<'a>(&'a self, group: &'a GroupId) -> impl Iterator<Item = &'a SessionPin> {
        let pins = self.0.iter();
        pins.filter(move |pin| pin.group.known() == Some(group))
    }
}

impl Live for Counted {
    fn of(&self, group: &GroupId) -> u64 {
        self.of_group(group).count() as u64
    }

    fn at(&self, group: &GroupId, endpoint: &EndpointId) -> u64 {
        let bound = |pin: &&SessionPin| {
            let bound = pin.endpoint.as_ref().and_then(EndpointRef::known);
            bound == Some(endpoint)
        };
        self.of_group(group).filter(bound).count() as u64
    }
}

impl fmt::Debug for PlainStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainStore")
            .field("rows", &self.len())
            .finish_non_exhaustive()
    }
}
