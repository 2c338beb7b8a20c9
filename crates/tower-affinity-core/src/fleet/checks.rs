//! What is wrong with a replica, as its peers' records show it.
//!
//! Each replica judges itself. Where two stand against each other, both would be out if each had to
//! yield: so a replica that serves has a vote of its own, one that joins has none, and where votes
//! are even nobody yields but who joins.

use std::fmt;
use std::time::Duration;

use super::{Digest, Fleet, ReplicaRecord};
use crate::{KeyId, Timestamp};

/// How far a clock may be from those of the others: 5 minutes, as pins allow it.
const CLOCKS: Duration = Duration::from_secs(5 * 60);

/// What is wrong with this replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// Whether it must not be ready.
    pub unready: bool,
}

/// The kinds of problems. Their text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Its clock is far from those of the others.
    Clock {
        /// By how much at least.
        off: Duration,
        /// Whether it is ahead of them.
        ahead: bool,
    },
    /// It has not the key that the fleet signs with.
    Lacks {
        /// The key.
        key: KeyId,
    },
    /// It has another key than others under one id.
    Differs {
        /// The id.
        key: KeyId,
        /// Those who have another key.
        from: Vec<String>,
    },
    /// It signs with a key that not all have yet.
    TooYoung {
        /// The key.
        key: KeyId,
        /// Those who have none of that id.
        lacking: Vec<String>,
    },
    /// Its configuration is not that of others, as while a new one is rolled out.
    Config {
        /// Those who have another one.
        from: Vec<String>,
    },
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { off, ahead } => {
                let off = humantime::format_duration(*off);
                let side = if *ahead { "ahead of" } else { "behind" };
                write!(
                    f,
                    "the clock is {off} or more {side} the median of the other replicas"
                )
            }
            Self::Lacks { key } => {
                write!(
                    f,
                    "the key {key}, which the fleet signs with, is not in the keyring"
                )
            }
            Self::Differs { key, from } => {
                write!(
                    f,
                    "the key {key} is another one than that of {}",
                    from.join(", ")
                )
            }
            Self::TooYoung { key, lacking } => write!(
                f,
                "the key {key} signs too early: it is not in the keyring of {}",
                lacking.join(", ")
            ),
            Self::Config { from } => {
                write!(f, "the configuration is not that of {}", from.join(", "))
            }
        }
    }
}

impl Problem {
    fn new(kind: ProblemKind, unready: bool) -> Self {
        Self { kind, unready }
    }
}

impl Fleet {
    /// What is wrong with this replica as the others show it whose leases run. Their records are
    /// up to `lapse` old. `joins` says that it has not been ready yet.
    #[must_use]
    pub fn problems(&self, lapse: Duration, joins: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        problems.extend(self.clock(lapse, joins));
        problems.extend(self.lacks(joins));
        problems.extend(self.differs(joins));
        problems.extend(self.too_young());
        problems.extend(self.config());
        problems
    }

    /// With one other, nobody can tell whose clock is wrong: who joins yields.
    fn clock(&self, lapse: Duration, joins: bool) -> Option<Problem> {
        let now = self.own.at;
        let mut times: Vec<Timestamp> = self.alive().map(|(_, record)| record.at).collect();
        times.sort_unstable();
        // of an even number, the middle is what lies between two
        let low = *times.get(times.len().checked_sub(1)? / 2)?;
        let high = *times.get(times.len() / 2)?;
        let ahead = now.since(high.plus(lapse));
        let behind = low.since(now);
        let off = ahead.max(behind);
        let kind = ProblemKind::Clock {
            off,
            ahead: ahead > behind,
        };
        (off > CLOCKS).then(|| Problem::new(kind, joins || times.len() > 1))
    }

    fn lacks(&self, joins: bool) -> Option<Problem> {
        let key = most(self.voters(joins).map(|record| record.signing.clone()))?;
        // another key of that id is told as such
        let lacks = self.own.key(&key).is_none();
        lacks.then(|| Problem::new(ProblemKind::Lacks { key }, true))
    }

    fn differs(&self, joins: bool) -> impl Iterator<Item = Problem> {
        self.own.keys.iter().filter_map(move |own| {
            let key = own.id.clone();
            let from = self
                .named_alive(|record| record.key(&key).is_some_and(|digest| *digest != own.digest));
            let votes = self
                .voters(joins)
                .filter_map(|record| record.key(&key).cloned());
            let unready = most(votes).is_some_and(|digest: Digest| digest != own.digest);
            let kind = ProblemKind::Differs {
                key,
                from: from.clone(),
            };
            (!from.is_empty()).then(|| Problem::new(kind, unready))
        })
    }

    /// It yields if it alone signs with the key, and has one that all have.
    fn too_young(&self) -> Option<Problem> {
        let key = &self.own.signing;
        let lacking = self.named_alive(|record| record.key(key).is_none());
        if lacking.is_empty() {
            return None;
        }
        let alone = self.alive().all(|(_, record)| record.signing != *key);
        let better = self.own.keys.iter().any(|own| {
            let mut others = self.alive();
            others.all(|(_, record)| record.key(&own.id) == Some(&own.digest))
        });
        let kind = ProblemKind::TooYoung {
            key: key.clone(),
            lacking,
        };
        Some(Problem::new(kind, alone && better))
    }

    fn config(&self) -> Option<Problem> {
        let own = self.own.config.as_ref()?;
        let from = self.named_alive(|record| {
            let theirs = record.config.as_ref();
            theirs.is_some_and(|theirs| theirs != own)
        });
        (!from.is_empty()).then(|| Problem::new(ProblemKind::Config { from }, false))
    }

    /// The records that count for what the fleet has.
    fn voters(&self, joins: bool) -> impl Iterator<Item = &ReplicaRecord> {
        let own = (!joins).then_some(&self.own);
        own.into_iter()
            .chain(self.alive().map(|(_, record)| record))
    }

    fn named_alive(&self, is: impl Fn(&ReplicaRecord) -> bool) -> Vec<String> {
        let found = self.alive().filter(|(_, record)| is(record));
        found.map(|(name, _)| name.to_owned()).collect()
    }
}

/// What is there more often than anything else; `None` if nothing is.
fn most<T: Ord>(votes: impl Iterator<Item = T>) -> Option<T> {
    let mut votes: Vec<T> = votes.collect();
    votes.sort_unstable();
    let mut counted: Vec<(usize, T)> = Vec::new();
    for vote in votes {
        match counted.last_mut() {
            Some((count, last)) if *last == vote => *count += 1,
            _ => counted.push((1, vote)),
        }
    }
    counted.sort_unstable_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut counted = counted.into_iter();
    let (count, first) = counted.next()?;
    let even = counted.next().is_some_and(|(other, _)| other == count);
    (!even).then_some(first)
}
