//! Wrong ways to tell when a group is drained.

use std::time::Duration;

use tower_affinity_core::{Announced, Bounds, Fleet, Group, Left, ReplicaRecord, Rollout};
use tower_affinity_testing::sim::{Parts, Real};

use super::Planted;

/// A drained group is only waited for until its sessions are idle.
struct DrainedEarly;

impl Parts for DrainedEarly {
    fn left(&self, fleet: &Fleet, group: &Group, bounds: Bounds) -> Left {
        let max_age = Duration::from_secs(1_800);
        Real.left(fleet, group, Bounds { max_age, ..bounds })
    }
}

/// The clock of the one that tells may be off, but no other one.
struct SkewOnce;

impl Parts for SkewOnce {
    fn left(&self, fleet: &Fleet, group: &Group, bounds: Bounds) -> Left {
        let skew = bounds.skew / 2;
        Real.left(fleet, group, Bounds { skew, ..bounds })
    }
}

/// Who is not heard is not waited for.
struct IgnoresSilent;

impl Parts for IgnoresSilent {
    fn fleet(&self, name: &str, own: ReplicaRecord, announced: &[Announced]) -> Fleet {
        let heard = announced.iter().filter(|other| other.alive).cloned();
        Real.fleet(name, own, &heard.collect::<Vec<_>>())
    }
}

/// What others say of their pins is not looked at.
struct OwnExpiries;

impl Parts for OwnExpiries {
    fn fleet(&self, name: &str, own: ReplicaRecord, announced: &[Announced]) -> Fleet {
        let without = |other: &Announced| {
            let mut record = ReplicaRecord::parse(&other.record).unwrap();
            for group in &mut record.groups {
                group.last_expiry = None;
            }
            Announced {
                record: record.to_document().to_string(),
                ..other.clone()
            }
        };
        let announced: Vec<_> = announced.iter().map(without).collect();
        Real.fleet(name, own, &announced)
    }
}

/// A replica puts in force what the shared state says, and serves by what only it knows.
struct TellsShared;

impl Parts for TellsShared {
    fn told<'a>(&self, shared: &'a Rollout, _: &'a Rollout) -> &'a Rollout {
        shared
    }
}

pub(super) fn all() -> Vec<Planted> {
    const EARLY: &[&str] = &["I9 never early"];
    vec![
        (
            "a group is drained when its sessions are idle",
            Box::new(DrainedEarly),
            EARLY,
        ),
        ("one clock's skew is waited for", Box::new(SkewOnce), EARLY),
        (
            "a silent replica is ignored",
            Box::new(IgnoresSilent),
            EARLY,
        ),
        ("only own pins count", Box::new(OwnExpiries), EARLY),
        (
            "a replica tells of the shared state",
            Box::new(TellsShared),
            EARLY,
        ),
    ]
}
