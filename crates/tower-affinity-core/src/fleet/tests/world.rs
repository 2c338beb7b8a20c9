//! A small world: replicas with clocks of their own that serve the sessions of one group, an engine
//! that keeps their records, and clients that may show any pin they ever got.

use std::time::Duration;

use proptest::prelude::*;

use super::record;
use crate::fixtures::{after, at, id, name, rollout};
use crate::{
    Acknowledged, Announced, Bounds, Fleet, Group, GroupRecord, Left, ReplicaRecord, Timestamp,
};

const TI: i64 = 100;
const TA: i64 = 400;
const SKEW: i64 = 20;
const HEARTBEAT: i64 = 10;
const LAPSE: i64 = 30;
const STREAMS: i64 = 10;
const REPLICAS: usize = 3;

pub(super) const BOUNDS: Bounds = Bounds {
    max_age: Duration::from_secs(TA as u64),
    skew: Duration::from_secs(SKEW as u64),
    streams: Duration::from_secs(STREAMS as u64),
};

/// What happens, told by numbers so that it shrinks well.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Wait(i64),
    Begin(usize),
    Show(usize, usize),
    Stream(usize, usize),
    Close(usize),
    Accept(usize),
    Partition(usize),
    Heal(usize),
    Crash(usize),
    Leave(usize),
    Start(usize),
    Forget(usize),
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let replica = || 0..REPLICAS;
    let pin = || 0..64_usize;
    let step = prop_oneof![
        8 => (1..=150_i64).prop_map(Step::Wait),
        5 => replica().prop_map(Step::Begin),
        8 => (replica(), pin()).prop_map(|(r, p)| Step::Show(r, p)),
        2 => (replica(), pin()).prop_map(|(r, p)| Step::Stream(r, p)),
        1 => replica().prop_map(Step::Close),
        4 => replica().prop_map(Step::Accept),
        1 => replica().prop_map(Step::Partition),
        1 => replica().prop_map(Step::Heal),
        1 => replica().prop_map(Step::Crash),
        1 => replica().prop_map(Step::Leave),
        1 => replica().prop_map(Step::Start),
        1 => replica().prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 1..60)
}

pub(super) fn skews() -> impl Strategy<Value = [i64; REPLICAS]> {
    let skew = || prop_oneof![Just(-SKEW), Just(0), Just(SKEW), -SKEW..=SKEW];
    [skew(), skew(), skew()]
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pin {
    began: i64,
    expires: i64,
}

#[derive(Clone, Debug)]
struct Replica {
    skew: i64,
    up: bool,
    connected: bool,
    acknowledged: Option<Acknowledged>,
    last_expiry: Option<i64>,
    open: u64,
    /// The records of all as it read them before it was cut off.
    seen: Vec<Announced>,
}

/// What the engine has of a replica, and the true time at which that was written.
type Kept = Option<(ReplicaRecord, i64)>;

pub(super) struct World {
    now: i64,
    draining: Group,
    replicas: [Replica; REPLICAS],
    engine: [Kept; REPLICAS],
    pins: Vec<Pin>,
}

impl World {
    /// A group that drains since 0, of which no replica but the first has heard.
    pub(super) fn new(skews: [i64; REPLICAS]) -> Self {
        let active = rollout(&[("A", 1), ("B", 1)]);
        let drained = active.drain(&name("B"), after(&active, at(0))).unwrap();
        let mut world = Self {
            now: 0,
            draining: drained.group(&name("B")).unwrap().clone(),
            replicas: skews.map(|skew| Replica {
                skew,
                up: true,
                connected: true,
                acknowledged: None,
                last_expiry: None,
                open: 0,
                seen: Vec::new(),
            }),
            engine: [const { None }; REPLICAS],
            pins: Vec::new(),
        };
        (0..REPLICAS).for_each(|n| world.announce(n, false));
        world
    }

    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Wait(secs) => self.wait(secs),
            Step::Begin(n) => {
                let clock = self.clock(n);
                let replica = &self.replicas[n];
                if replica.up && replica.acknowledged.is_none() {
                    self.issue(n, clock, clock + TI);
                }
            }
            Step::Show(n, pin) => self.show(n, pin, false),
            Step::Stream(n, pin) => self.show(n, pin, true),
            Step::Close(n) => {
                self.replicas[n].open = self.replicas[n].open.saturating_sub(1);
            }
            Step::Accept(n) => self.accept(n),
            Step::Partition(n) if self.is_joined(n) => {
                self.replicas[n].seen = self.announced();
                self.replicas[n].connected = false;
            }
            Step::Heal(n) => self.replicas[n].connected = true,
            Step::Crash(n) => {
                self.replicas[n].up = false;
                self.replicas[n].open = 0;
            }
            Step::Leave(n) if self.is_joined(n) => {
                self.replicas[n].open = 0;
                self.announce(n, true);
                self.replicas[n].up = false;
            }
            Step::Start(n) if !self.replicas[n].up => self.start(n),
            Step::Forget(n) if !self.replicas[n].up => self.forget(n),
            Step::Partition(_) | Step::Leave(_) | Step::Start(_) | Step::Forget(_) => {}
        }
    }

    /// Whatever keeps a word from being said ends: partitions heal, all put the drain in force,
    /// those that are gone without having done so are forgotten, and nothing stays open.
    pub(super) fn settle(&mut self) {
        for n in 0..REPLICAS {
            if self.replicas[n].up {
                self.replicas[n].connected = true;
                self.replicas[n].open = 0;
                self.accept(n);
            } else {
                self.forget(n);
            }
        }
    }

    /// The time by the clock of a replica.
    pub(super) fn now(&self, n: usize) -> Timestamp {
        at(self.clock(n))
    }

    /// What a replica that can say so says is left.
    pub(super) fn left(&self, n: usize) -> Option<Left> {
        let knows = self.is_joined(n) && self.replicas[n].acknowledged.is_some();
        knows.then(|| {
            self.fleet(n, &self.announced())
                .left(&self.draining, BOUNDS)
        })
    }

    /// Fails if a replica says that the group is drained and there is still something.
    pub(super) fn check(&self) -> Result<(), TestCaseError> {
        let says = (0..REPLICAS).filter(|n| self.left(*n).is_some_and(|left| left.drained));
        for n in says {
            for (other, replica) in self.replicas.iter().enumerate() {
                if !replica.up {
                    continue;
                }
                let clock = self.clock(other);
                let valid = self.pins.iter().find(|pin| is_valid(pin, clock));
                prop_assert_eq!(valid, None, "{} says drained, pin is valid at {}", n, other);
                prop_assert_eq!(replica.open, 0, "{} says drained, open at {}", n, other);
            }
        }
        Ok(())
    }

    /// Time passes in steps in which each replica says what it knows, and cuts what has to end.
    pub(super) fn wait(&mut self, secs: i64) {
        for _ in 0..secs {
            self.now += 1;
            for n in 0..REPLICAS {
                if !self.replicas[n].up {
                    continue;
                }
                if self.replicas[n].open > 0 && self.has_to_cut(n) {
                    self.replicas[n].open = 0;
                }
                if self.replicas[n].connected && (self.now + 3 * n as i64) % HEARTBEAT == 0 {
                    self.announce(n, false);
                }
            }
        }
    }

    fn has_to_cut(&self, n: usize) -> bool {
        let knows = self.replicas[n].acknowledged.is_some();
        let fleet = match self.replicas[n].connected {
            true => self.fleet(n, &self.announced()),
            false => self.fleet(n, &self.replicas[n].seen),
        };
        let cut = fleet.cut_at(&self.draining, BOUNDS);
        knows && cut.is_some_and(|cut| self.now(n) > cut.plus(BOUNDS.streams))
    }

    fn clock(&self, n: usize) -> i64 {
        self.now + self.replicas[n].skew
    }

    fn is_joined(&self, n: usize) -> bool {
        self.replicas[n].up && self.replicas[n].connected
    }

    fn issue(&mut self, n: usize, began: i64, expires: i64) {
        let expires = expires.min(began + TA);
        self.pins.push(Pin { began, expires });
        self.note(n, expires);
    }

    fn note(&mut self, n: usize, expires: i64) {
        let last = &mut self.replicas[n].last_expiry;
        *last = (*last).max(Some(expires));
    }

    fn show(&mut self, n: usize, pin: usize, streams: bool) {
        let clock = self.clock(n);
        let newest = self.pins.len().saturating_sub(1 + pin % 8);
        let Some(pin) = self.pins.get(newest).copied() else {
            return;
        };
        if !self.replicas[n].up || !is_valid(&pin, clock) {
            return;
        }
        self.note(n, pin.expires);
        if streams {
            self.replicas[n].open += 1;
            self.issue(n, pin.began, pin.began + TA);
        } else {
            self.issue(n, pin.began, pin.expires.max(clock + TI));
        }
    }

    fn accept(&mut self, n: usize) {
        if self.is_joined(n) && self.replicas[n].acknowledged.is_none() {
            let before = self.record(n, false);
            self.replicas[n].acknowledged = self.acknowledges(n, Some(&before));
            self.announce(n, false);
        }
    }

    fn acknowledges(&self, n: usize, before: Option<&ReplicaRecord>) -> Option<Acknowledged> {
        let clock = at(self.clock(n));
        Acknowledged::of(&id("B", 1), self.draining.state(), before, clock)
    }

    /// Begins anew with what the engine has of it.
    fn start(&mut self, n: usize) {
        let before = self.engine[n].take().map(|(record, _)| record);
        let known = before.as_ref().and_then(|record| record.group(&id("B", 1)));
        let known = known.and_then(|group| group.last_expiry).map(secs);
        let acknowledged = self.acknowledges(n, before.as_ref());
        let clock = self.clock(n);
        let replica = &mut self.replicas[n];
        replica.last_expiry = known;
        replica.acknowledged = acknowledged;
        replica.up = true;
        replica.connected = true;
        if before.is_some_and(|record| !record.left) {
            self.note(n, clock + TA);
        }
        self.announce(n, false);
    }

    /// The operator answers for the pins of a replica that is gone, and for what it may begin with.
    fn forget(&mut self, n: usize) {
        self.engine[n] = None;
        let known = self.replicas.iter().filter(|replica| replica.up);
        let known = known.filter_map(|replica| replica.last_expiry).max();
        let left = self
            .engine
            .iter()
            .flatten()
            .filter(|(record, _)| record.left);
        let left = left.filter_map(|(record, _)| record.group(&id("B", 1))?.last_expiry);
        let known = known.max(left.max().map(secs));
        self.pins.retain(|pin| Some(pin.expires) <= known);
        // and no session that began there after the others had heard of the drain is left
        let ended = self
            .replicas
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != n);
        let ended = ended.filter_map(|(_, replica)| Some(secs(replica.acknowledged?.at)));
        if let Some(ended) = ended.max() {
            self.pins.retain(|pin| pin.began <= ended);
        }
    }

    fn record(&self, n: usize, left: bool) -> ReplicaRecord {
        let replica = &self.replicas[n];
        let group = GroupRecord {
            id: id("B", 1),
            last_expiry: replica.last_expiry.map(at),
            open: replica.open,
            acknowledged: replica.acknowledged,
            live: None,
            counted: None,
        };
        ReplicaRecord {
            left,
            groups: vec![group],
            ..record(at(self.clock(n)))
        }
    }

    fn announce(&mut self, n: usize, left: bool) {
        self.engine[n] = Some((self.record(n, left), self.now));
    }

    fn announced(&self) -> Vec<Announced> {
        let kept = self.engine.iter().enumerate();
        kept.filter_map(|(n, kept)| {
            let (record, written) = kept.as_ref()?;
            Some(Announced {
                replica: n.to_string(),
                record: record.to_document().to_string(),
                alive: !record.left && self.now - written <= LAPSE,
            })
        })
        .collect()
    }

    fn fleet(&self, n: usize, announced: &[Announced]) -> Fleet {
        Fleet::new(&n.to_string(), self.record(n, false), announced)
    }
}

fn is_valid(pin: &Pin, clock: i64) -> bool {
    clock < pin.expires && clock < pin.began + TA
}

/// The seconds of [`at`].
fn secs(time: Timestamp) -> i64 {
    time.as_secs() as i64 - at(0).as_secs() as i64
}
