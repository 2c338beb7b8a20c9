//! [`Fleet`]: all replicas, as one of them sees them.

use std::time::Duration;

use super::{Announced, LiveSketch, RecordError, ReplicaRecord};
use crate::analysis::StepTally;
use crate::{GroupId, Revision, Timestamp};

/// All replicas that are not forgotten, as one of them sees them.
///
/// The time of every conclusion is that of the own record ([`ReplicaRecord::at`]), which is made
/// for it.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(super) name: String,
    pub(super) own: ReplicaRecord,
    pub(super) others: Vec<Member>,
    /// The own clock when the read of the others' records began; `None` if that is now.
    pub(super) heard: Option<Timestamp>,
}

/// Another replica.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) word: Word,
}

/// What is known of another replica.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// Its lease runs.
    Alive(ReplicaRecord),
    /// Its lease has lapsed: it crashed, or it serves out of reach of the shared state.
    Silent(ReplicaRecord),
    /// It serves nobody any more.
    Left(ReplicaRecord),
    /// This release cannot read its record.
    Unreadable,
}

impl Fleet {
    /// The fleet of the replica `name`, whose own record is made now, and of the others that the
    /// engine has records of, as they are now. What the engine has of `name` is older and left out.
    #[must_use]
    pub fn new(name: &str, own: ReplicaRecord, announced: &[Announced]) -> Self {
        let others = announced.iter().filter(|other| other.replica != name);
        Self {
            name: name.to_owned(),
            own,
            others: others.map(Member::from).collect(),
            heard: None,
        }
    }

    /// The same with records that were read earlier: the own clock said `heard` when the read
    /// began. Replicas that came since are not among them.
    #[must_use]
    pub fn heard_at(self, heard: Timestamp) -> Self {
        Self {
            heard: Some(heard),
            ..self
        }
    }

    /// The live sessions of a group: the union of what each replica saw within `idle`.
    ///
    /// What a replica saw that is not there any more counts for as long as it can be true: its
    /// sessions come back elsewhere.
    #[must_use]
    pub fn live(&self, id: &GroupId, idle: Duration) -> LiveSketch {
        let mut live = LiveSketch::default();
        self.records()
            .filter(|record| record.at.plus(idle) > self.own.at)
            .filter_map(|record| record.group(id)?.live.as_ref())
            .for_each(|seen| live.merge(seen));
        live
    }

    /// What all replicas have counted of a group since the step of that revision; `None` if none has.
    ///
    /// A replica that is not there any more has its sessions in it: they were dealt like all others.
    #[must_use]
    pub fn counted(&self, id: &GroupId, step: Revision) -> Option<StepTally> {
        let counted = self
            .records()
            .filter_map(|record| record.group(id)?.counted);
        counted
            .filter(|counted| counted.step == step)
            .reduce(|all, counted| all.merge(counted).unwrap_or(all))
    }

    /// All records that can be read, the own one first.
    pub(super) fn records(&self) -> impl Iterator<Item = &ReplicaRecord> {
        let others = self.others.iter().filter_map(|other| match &other.word {
            Word::Alive(record) | Word::Silent(record) | Word::Left(record) => Some(record),
            Word::Unreadable => None,
        });
        std::iter::once(&self.own).chain(others)
    }

    /// The names and records of the others whose leases run.
    pub(super) fn alive(&self) -> impl Iterator<Item = (&str, &ReplicaRecord)> {
        self.others.iter().filter_map(|other| match &other.word {
            Word::Alive(record) => Some((other.name.as_str(), record)),
            _ => None,
        })
    }
}

impl ReplicaRecord {
    /// Reads the text that an engine has of a replica.
    ///
    /// # Errors
    ///
    /// As [`ReplicaRecord::from_document`].
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        Self::from_document(&serde_json::from_str(text).map_err(RecordError::Form)?)
    }

    /// When it has put in force the end of new sessions that a state names.
    pub(super) fn acknowledged(&self, id: &GroupId, since: Timestamp) -> Option<Timestamp> {
        let known = self.group(id)?.acknowledged?;
        (known.since == since).then_some(known.at)
    }
}

impl Member {
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.word, Word::Silent(_))
    }
}

impl From<&Announced> for Member {
    fn from(announced: &Announced) -> Self {
        Self {
            name: announced.replica.clone(),
            word: match ReplicaRecord::parse(&announced.record) {
                Ok(record) if record.left => Word::Left(record),
                Ok(record) if announced.alive => Word::Alive(record),
                Ok(record) => Word::Silent(record),
                Err(_) => Word::Unreadable,
            },
        }
    }
}
