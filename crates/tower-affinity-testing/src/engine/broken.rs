//! Engines that are wrong in one way each: the facts find all of them.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use tower_affinity_core::{Announced, Engine, EngineFuture, Replaced, Stored, Version};

use super::{MemoryEngine, conform};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    CreatesTwice,
    WritesWhatIsLost,
    VersionStays,
    StaleRead,
    WakesAtOnce,
    MissesThePast,
    OutlivesItsLease,
    LapsesEarly,
    DepartsAlive,
    DepartsWithoutARecord,
    ForgetsTheUnknown,
    ForgetsNothing,
    ListsBackwards,
    OneForAll,
}

const BUGS: [Bug; 14] = [
    Bug::CreatesTwice,
    Bug::WritesWhatIsLost,
    Bug::VersionStays,
    Bug::StaleRead,
    Bug::WakesAtOnce,
    Bug::MissesThePast,
    Bug::OutlivesItsLease,
    Bug::LapsesEarly,
    Bug::DepartsAlive,
    Bug::DepartsWithoutARecord,
    Bug::ForgetsTheUnknown,
    Bug::ForgetsNothing,
    Bug::ListsBackwards,
    Bug::OneForAll,
];

#[derive(Debug)]
struct Broken {
    engine: MemoryEngine,
    bug: Bug,
    last_read: Mutex<Option<Stored>>,
}

impl Engine for Broken {
    fn read(&self) -> EngineFuture<'_, Stored> {
        Box::pin(async {
            let stored = self.engine.read().await?;
            let last = self.last_read.lock().unwrap().replace(stored.clone());
            let stale = last.filter(|_| self.bug == Bug::StaleRead);
            Ok(stale.unwrap_or(stored))
        })
    }

    fn replace(&self, version: Version, document: String) -> EngineFuture<'_, Replaced> {
        Box::pin(async move {
            let present = self.engine.stored().version;
            match self.bug {
                Bug::CreatesTwice if version == Version::NONE => {
                    self.engine.replace(present, document).await
                }
                Bug::WritesWhatIsLost if version != present => {
                    self.engine.replace(present, document).await?;
                    Ok(Replaced::Lost)
                }
                Bug::VersionStays => {
                    let replaced = self.engine.replace(version, document).await?;
                    let (lost, stored) = (replaced == Replaced::Lost, self.engine.stored());
                    let version = Version(1);
                    self.engine.restore(Stored { version, ..stored });
                    Ok(if lost {
                        replaced
                    } else {
                        Replaced::Done(version)
                    })
                }
                _ => self.engine.replace(version, document).await,
            }
        })
    }

    fn changed(&self, seen: Version) -> EngineFuture<'_, Stored> {
        match self.bug {
            Bug::WakesAtOnce => self.engine.read(),
            Bug::MissesThePast => self.engine.changed(self.engine.stored().version),
            _ => self.engine.changed(seen),
        }
    }

    fn announce<'a>(
        &'a self,
        replica: &'a str,
        record: String,
        lapse: Duration,
    ) -> EngineFuture<'a, ()> {
        let lapse = match self.bug {
            Bug::OutlivesItsLease => lapse * 1_000,
            Bug::LapsesEarly => lapse / 2,
            _ => lapse,
        };
        self.engine.announce(replica, record, lapse)
    }

    fn depart<'a>(&'a self, replica: &'a str, record: String) -> EngineFuture<'a, ()> {
        match self.bug {
            Bug::DepartsAlive => self.engine.announce(replica, record, Duration::MAX / 4),
            Bug::DepartsWithoutARecord => {
                Box::pin(async move { self.engine.forget(replica).await.map(drop) })
            }
            _ => self.engine.depart(replica, record),
        }
    }

    fn forget<'a>(&'a self, replica: &'a str) -> EngineFuture<'a, bool> {
        Box::pin(async move {
            match self.bug {
                Bug::ForgetsTheUnknown => self.engine.forget(replica).await.map(|_| true),
                Bug::ForgetsNothing => Ok(true),
                _ => self.engine.forget(replica).await,
            }
        })
    }

    fn records(&self) -> EngineFuture<'_, Vec<Announced>> {
        Box::pin(async {
            let mut records = self.engine.records().await?;
            if self.bug == Bug::ListsBackwards {
                records.reverse();
            }
            Ok(records)
        })
    }
}

/// Whether an engine with that bug passes for one that fulfils the contract.
fn passes(bug: Bug) -> bool {
    let services: Mutex<BTreeMap<String, MemoryEngine>> = Mutex::default();
    let make = |service: &str| {
        let service = match bug {
            // only where the facts ask for two services
            Bug::OneForAll => service.trim_end_matches("-b"),
            _ => service,
        };
        let mut services = services.lock().unwrap();
        Broken {
            engine: services.entry(service.to_owned()).or_default().link(),
            bug,
            last_read: Mutex::default(),
        }
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let played = catch_unwind(AssertUnwindSafe(|| runtime.block_on(conform(make))));
    played.is_ok()
}

#[test]
fn every_planted_bug_is_found() {
    assert!(passes(Bug::None));
    for bug in BUGS {
        assert!(!passes(bug), "{bug:?} was not found");
    }
}
