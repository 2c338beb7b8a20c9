//! [`MemoryEngine`]: an engine in memory, with faults set by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tower_affinity_core::{
    Announced, Engine, EngineError, EngineFuture, Replaced, Stored, Version,
};

use super::Fault;

/// An engine in memory. Its clones are the same replica's; [`link`](Self::link) makes that of
/// another replica, with faults of its own. Leases run in tokio's time.
#[derive(Clone, Debug)]
pub struct MemoryEngine {
    place: Arc<watch::Sender<Place>>,
    link: usize,
}

impl MemoryEngine {
    /// An empty engine without faults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            place: Arc::new(watch::Sender::new(Place::new())),
            link: 0,
        }
    }

    /// Another replica's way to the same engine.
    #[must_use]
    pub fn link(&self) -> Self {
        Self {
            place: Arc::clone(&self.place),
            link: self.with(|place| {
                place.links += 1;
                place.links
            }),
        }
    }

    /// From now on this replica meets `fault`; `None` ends it. It comes before one for all.
    pub fn suffer(&self, fault: impl Into<Option<Fault>>) {
        let fault = fault.into();
        self.with(|place| match fault {
            Some(fault) => drop(place.faults.insert(self.link, fault)),
            None => drop(place.faults.remove(&self.link)),
        });
    }

    /// From now on every replica meets `fault`; `None` ends it.
    pub fn all_suffer(&self, fault: impl Into<Option<Fault>>) {
        let fault = fault.into();
        self.with(|place| place.everywhere = fault);
    }

    /// The next replacement that this replica makes is done, but answered with an error.
    pub fn lose_next_answer(&self) {
        self.with(|place| place.losing.insert(self.link));
    }

    /// Sets the document to another state, be it an earlier one; the next version is the one after.
    pub fn restore(&self, stored: Stored) {
        self.with(|place| place.stored = stored);
    }

    /// The document as it is, whatever the faults.
    #[must_use]
    pub fn stored(&self) -> Stored {
        self.place.borrow().stored.clone()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Place) -> T) -> T {
        let mut done = None;
        self.place.send_modify(|place| done = Some(act(place)));
        // `send_modify` always calls what it is given
        #[allow(clippy::expect_used)]
        done.expect("the place was changed")
    }

    /// Does what is asked as soon as the faults let it through.
    async fn ask<T>(&self, act: impl FnOnce(&mut Place) -> T) -> Result<T, EngineError> {
        let fault = self.place.borrow().fault(self.link).cloned();
        if let Some(Fault::Slow(delay)) = fault {
            sleep(delay).await;
        }
        self.until(|place| place.fault(self.link) != Some(&Fault::Silent))
            .await?;
        self.with(|place| match place.fault(self.link) {
            Some(Fault::OutOfReach) => Err(EngineError::new("a fault: out of reach")),
            _ => Ok(act(place)),
        })
    }

    async fn until(&self, holds: impl FnMut(&Place) -> bool) -> Result<(), EngineError> {
        let mut place = self.place.subscribe();
        let held = place.wait_for(holds).await;
        held.map(drop).map_err(EngineError::new)
    }
}

impl Default for MemoryEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for MemoryEngine {
    fn read(&self) -> EngineFuture<'_, Stored> {
        Box::pin(self.ask(|place| place.shown(self.link).clone()))
    }

    fn replace(&self, version: Version, document: String) -> EngineFuture<'_, Replaced> {
        Box::pin(async move {
            let (replaced, lost) = self
                .ask(|place| {
                    let lost = place.losing.remove(&self.link);
                    (place.replace(version, document), lost)
                })
                .await?;
            if lost {
                return Err(EngineError::new("a fault: the answer is lost"));
            }
            Ok(replaced)
        })
    }

    fn changed(&self, seen: Version) -> EngineFuture<'_, Stored> {
        Box::pin(async move {
            loop {
                self.until(|place| match place.fault(self.link) {
                    Some(Fault::Silent) => false,
                    Some(Fault::OutOfReach) => true,
                    _ => place.shown(self.link).version != seen,
                })
                .await?;
                let stored = self.read().await?;
                // a slow answer can have been overtaken by a `restore`
                if stored.version != seen {
                    return Ok(stored);
                }
            }
        })
    }

    fn announce<'a>(
        &'a self,
        replica: &'a str,
        record: String,
        lapse: Duration,
    ) -> EngineFuture<'a, ()> {
        Box::pin(self.ask(move |place| {
            let ends = Instant::now() + lapse;
            place.write(replica, record, Some(ends));
        }))
    }

    fn depart<'a>(&'a self, replica: &'a str, record: String) -> EngineFuture<'a, ()> {
        Box::pin(self.ask(move |place| place.write(replica, record, None)))
    }

    fn forget<'a>(&'a self, replica: &'a str) -> EngineFuture<'a, bool> {
        Box::pin(self.ask(move |place| place.records.remove(replica).is_some()))
    }

    fn records(&self) -> EngineFuture<'_, Vec<Announced>> {
        Box::pin(self.ask(|place| place.announced()))
    }
}

/// What all links share.
#[derive(Debug)]
struct Place {
    stored: Stored,
    records: BTreeMap<String, Record>,
    /// The number of the last link.
    links: usize,
    faults: BTreeMap<usize, Fault>,
    everywhere: Option<Fault>,
    losing: BTreeSet<usize>,
}

#[derive(Debug)]
struct Record {
    text: String,
    lease_ends: Option<Instant>,
}

impl Place {
    fn new() -> Self {
        Self {
            stored: Stored {
                document: None,
                version: Version::NONE,
            },
            records: BTreeMap::new(),
            links: 0,
            faults: BTreeMap::new(),
            everywhere: None,
            losing: BTreeSet::new(),
        }
    }

    fn fault(&self, link: usize) -> Option<&Fault> {
        self.faults.get(&link).or(self.everywhere.as_ref())
    }

    /// The document as that link gets it.
    fn shown(&self, link: usize) -> &Stored {
        match self.fault(link) {
            Some(Fault::Lies(lie)) => lie,
            _ => &self.stored,
        }
    }

    fn replace(&mut self, version: Version, document: String) -> Replaced {
        if self.stored.version != version {
            return Replaced::Lost;
        }
        let next = Version(version.0 + 1);
        self.stored = Stored {
            document: Some(document),
            version: next,
        };
        Replaced::Done(next)
    }

    fn write(&mut self, replica: &str, text: String, lease_ends: Option<Instant>) {
        let record = Record { text, lease_ends };
        self.records.insert(replica.to_owned(), record);
    }

    fn announced(&self) -> Vec<Announced> {
        let now = Instant::now();
        self.records
            .iter()
            .map(|(replica, record)| Announced {
                replica: replica.clone(),
                record: record.text.clone(),
                alive: record.lease_ends.is_some_and(|ends| now < ends),
            })
            .collect()
    }
}
