//! What is left of a group in the whole fleet.
//!
//! Clocks are within `skew` of the true time, and records are some seconds old. Once each replica
//! has put the drain in force, a pin is only ever a renewal of an older one. Let M be the latest
//! expiry in all records, and each record written after M by its replica's own clock: a pin that
//! lives longer would be the renewal of one that lived longer than M too and is in no record, and
//! so on, but there is no first one. So the group is drained once M has passed by every clock, and
//! each replica has said so since.

use std::time::Duration;

use super::member::{Fleet, Word};
use crate::{Group, GroupId, GroupName, Refusal, State, Timestamp};

/// What bounds the wait for a draining group.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The greatest age of a session.
    pub max_age: Duration,
    /// The clock difference that is allowed between a replica and the true time; 0 for one replica.
    pub skew: Duration,
    /// Within which time a replica ends the streams of a group that is served no more.
    pub streams: Duration,
}

/// What is left of a group at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// Whether no session is left: its endpoints can be taken away.
    pub drained: bool,
    /// The latest expiry of a pin to it that a replica told of; `None` if there was none.
    pub last_expiry: Option<Timestamp>,
    /// The time until which it is not drained, as far as pins are known; `None` while new sessions
    /// may begin there.
    pub after: Option<Timestamp>,
    /// When it is drained at the latest, if it drains everywhere.
    pub by: Option<Timestamp>,
    /// Requests whose answer or tunnel has not ended, at the replicas whose leases run.
    pub open: u64,
    /// The replicas whose word is missing: that no session begins there any more, or that none is
    /// left. To forget one that is gone ends the wait for it.
    pub waits_for: Vec<String>,
}

impl Fleet {
    /// What is left of a group of the newest rollout.
    #[must_use]
    pub fn left(&self, group: &Group, bounds: Bounds) -> Left {
        let (id, state) = (group.id(), group.state());
        let open = |record: &super::ReplicaRecord| record.group(id).map_or(0, |group| group.open);
        let left = Left {
            last_expiry: self
                .records()
                .filter_map(|record| record.group(id)?.last_expiry)
                .max(),
            open: self
                .alive()
                .fold(open(&self.own), |sum, (_, record)| sum + open(record)),
            waits_for: self.begins_sessions(id, state),
            ..Left::default()
        };
        if !left.waits_for.is_empty() {
            return left;
        }
        let ended = self.ended(id, state);
        let silent = self.others.iter().any(|other| other.is_silent());
        // a silent replica may have renewed the last session that began
        let last_expiry = match silent {
            true => left.last_expiry.max(Some(ended.plus(bounds.max_age))),
            false => left.last_expiry,
        };
        let Some(quiet) = state.quiet_after(last_expiry, ended, bounds.max_age) else {
            return left;
        };
        let now = self.own.at;
        let after = quiet.plus(state.apart(bounds.skew));
        // its streams end by its own clock
        let cut = |end: Timestamp| end.plus(bounds.streams).plus(bounds.skew * 2);
        let waits = |word: &Word| match word {
            Word::Alive(record) => now > after && record.at <= quiet,
            Word::Silent(_) => now <= cut(after.max(ended)),
            Word::Left(_) | Word::Unreadable => false,
        };
        let waits_for: Vec<String> = self.named(waits).collect();
        let by = matches!(state, State::Draining { .. }).then(|| {
            let by = ended.plus(bounds.max_age).plus(bounds.skew * 2);
            if silent { cut(by) } else { by }
        });
        Left {
            drained: now > after && left.open == 0 && waits_for.is_empty(),
            after: Some(after),
            by,
            waits_for,
            ..left
        }
    }

    /// When what is open in a draining group is ended here: no pin to it can be valid then, as far
    /// as the replicas have put the drain in force. `None` if it does not drain.
    #[must_use]
    pub fn cut_at(&self, group: &Group, bounds: Bounds) -> Option<Timestamp> {
        let state = group.state();
        let drains = matches!(state, State::Draining { .. });
        let ended = self.ended(group.id(), state);
        drains.then(|| ended.plus(bounds.max_age).plus(bounds.skew * 2))
    }

    /// When the last of the replicas that have put the end of new sessions in force did so.
    fn ended(&self, id: &GroupId, state: &State) -> Timestamp {
        let Some(since) = state.ended() else {
            return Timestamp::default();
        };
        let others = self.others.iter().filter_map(|other| match &other.word {
            Word::Alive(record) | Word::Silent(record) => record.acknowledged(id, since),
            // without a word of the end, it began sessions until it left
            Word::Left(record) => Some(record.acknowledged(id, since).unwrap_or(record.at)),
            Word::Unreadable => None,
        });
        let own = self.own.acknowledged(id, since);
        others.chain(own).fold(since, Timestamp::max)
    }

    /// The replicas where sessions may begin for all that is known here.
    fn begins_sessions(&self, id: &GroupId, state: &State) -> Vec<String> {
        if matches!(state, State::Active) {
            return Vec::new();
        }
        let ended = state.ended();
        let begins = |record: &super::ReplicaRecord| match ended {
            Some(since) => record.acknowledged(id, since).is_none(),
            // an override may begin one in a staged group, which its pin's expiry tells
            None => false,
        };
        // a replica that was not heard of yet may begin sessions; one that announces itself after
        // the read takes the newest state before it serves
        let put_in_force = ended.and_then(|since| self.own.acknowledged(id, since));
        let unheard = put_in_force
            .zip(self.heard)
            .is_some_and(|(put_in_force, heard)| heard <= put_in_force);
        let own = (begins(&self.own) || unheard).then(|| self.name.clone());
        let others = self.named(|word| match word {
            Word::Alive(record) => begins(record),
            Word::Silent(record) => ended.is_none() || begins(record),
            Word::Left(_) => false,
            Word::Unreadable => true,
        });
        own.into_iter().chain(others).collect()
    }

    /// The replicas that left so long ago that no pin of theirs is valid by any clock: what they
    /// said tells nothing any more.
    #[must_use]
    pub fn long_left(&self, bounds: Bounds) -> Vec<String> {
        let counts = bounds.max_age + bounds.skew * 2;
        let long_ago = |record: &super::ReplicaRecord| self.own.at > record.at.plus(counts);
        let left = self.named(|word| matches!(word, Word::Left(record) if long_ago(record)));
        left.collect()
    }

    /// The names of the others of which that is true.
    fn named(&self, is: impl Fn(&Word) -> bool) -> impl Iterator<Item = String> {
        let others = self.others.iter().filter(move |other| is(&other.word));
        others.map(|other| other.name.clone())
    }
}

impl Left {
    /// Why the draining group `name` cannot be retired at `now` without force; `None` if it can.
    #[must_use]
    pub fn objection(&self, name: &GroupName, now: Timestamp) -> Option<Refusal> {
        let group = name.clone();
        match self.after {
            Some(by) if now <= by => Some(Refusal::NotDrained { group, by }),
            _ if !self.waits_for.is_empty() => Some(Refusal::Waits {
                group,
                replicas: self.waits_for.clone(),
            }),
            _ if self.open > 0 => Some(Refusal::Open {
                group,
                open: usize::try_from(self.open).unwrap_or(usize::MAX),
            }),
            _ => None,
        }
    }
}
