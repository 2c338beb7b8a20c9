//! The world of one run: replicas, clients, endpoints, and the one true time.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use tower_affinity_core::{DrawSalt, KeyId, PinCodec, Timestamp};

use super::Violation;
use super::client::Client;
use super::fleet::{Expiries, Placed, Retired, Said};
use super::flight::Flight;
use super::history::History;
use super::ledger::Entry;
use super::model::Model;
use super::names::{self, GROUPS, Id, Millis, salt};
use super::parts::{Order, Parts};
use super::place::{MOST, Pod};
use super::record::Exchange;
use super::replica::{Replica, State};
use super::trace::Trace;
use crate::START;
use crate::dice::Dice;
use crate::rollout::rollout;

pub(super) type Check<T = ()> = Result<T, Violation>;

/// Where replicas get their rollout from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A shared engine holds it; snapshots are delivered, a newer one can be asked for.
    Engine,
    /// Each replica has a file of its own; an operator tells each of them every order.
    Files,
}

#[derive(Debug)]
pub(super) enum Event {
    Deliver(usize, Rc<State>),
    Reread(usize),
    Say(usize, Said),
    Start(usize),
    Obey(usize, Order),
    Look(usize, usize),
    Answer(u64),
    Arrive(usize, Option<usize>),
}

pub(super) struct World<'p> {
    pub(super) parts: &'p dyn Parts,
    pub(super) dice: Dice,
    pub(super) now: Millis,
    pub(super) queue: BTreeMap<(Millis, u64), Event>,
    pub(super) tickets: u64,
    pub(super) source: Source,
    /// The engine's state.
    pub(super) head: Rc<State>,
    /// Earlier ones, of which there are backups.
    pub(super) backups: VecDeque<Rc<State>>,
    /// The aborts in the engine's state, each with the revision from which on every replica whose
    /// state is not older knows of it.
    pub(super) promised: BTreeMap<Id, u64>,
    pub(super) replicas: Vec<Replica>,
    pub(super) clients: Vec<Client>,
    /// The endpoints of each group.
    pub(super) endpoints: Vec<Vec<Pod>>,
    /// What level `endpoint` is drawn by, in the runs that have it: a stream of its own, so that all
    /// others stay as they were before there was that level.
    pub(super) levels: Option<Dice>,
    /// Whether something becomes of sessions: in some runs, so that all others stay as they were.
    pub(super) turns_out: bool,
    pub(super) ledger: Vec<Entry>,
    pub(super) flights: BTreeMap<u64, Flight>,
    pub(super) codecs: Vec<Rc<PinCodec>>,
    pub(super) forger: PinCodec,
    pub(super) neighbour: PinCodec,
    pub(super) salt: DrawSalt,
    pub(super) history: History,
    /// Groups that were retired because they were drained.
    pub(super) drained: BTreeMap<Id, Retired>,
    /// What the engine has of each replica.
    pub(super) said: Vec<Option<Said>>,
    /// How each session came to a group.
    pub(super) placed: HashMap<(u128, Id), Placed>,
    /// Until when nothing is promised of drained groups, since a replica was forgotten.
    pub(super) risky_until: Millis,
    /// The key that signs, by the replicas' records.
    pub(super) signing: KeyId,
    pub(super) rotated_at: Millis,
    pub(super) faults: bool,
    /// For how many advances time passes slowly, so that replicas are seen while they are behind.
    pub(super) hurry: u32,
    pub(super) trace: Trace,
    /// What was asked and answered, where a run is recorded.
    pub(super) record: Option<Vec<Exchange>>,
}

impl<'p> World<'p> {
    pub(super) fn new(seed: u64, parts: &'p dyn Parts, tells: bool) -> Self {
        let mut dice = Dice(seed);
        let source = if dice.chance(650) {
            Source::Engine
        } else {
            Source::Files
        };
        let replicas = 1 + dice.below(3);
        let groups = 2 + dice.below(GROUPS - 1);
        let weights: Vec<u64> = (0..groups).map(|_| dice.within(0, 3) * 10).collect();
        let weights = if weights.iter().all(|weight| *weight == 0) {
            vec![10; groups]
        } else {
            weights
        };
        let state = first_state(&weights);
        // one run in four has clocks that are apart by more than a pin's own tolerance
        let most = if dice.chance(250) { 300_000 } else { 150_000 };
        let replicas = (0..replicas).map(|_| Replica {
            state: Rc::clone(&state),
            shared: Rc::clone(&state),
            held: Vec::new(),
            shown: 0,
            offset: i64::try_from(dice.within(0, 2 * most)).unwrap_or_default() - most as i64,
            stepped: 0,
            down: [None; GROUPS],
            endpoints: [[None; MOST]; GROUPS],
            blind: None,
            epoch: 0,
            behind: None,
            expiries: Expiries::default(),
            kept: Expiries::default(),
            crashed: false,
            record: None,
            heard: Vec::new(),
            heard_at: Timestamp::default(),
            says_drained: BTreeSet::new(),
            gone: false,
            lives: 0,
            cut_until: 0,
        });
        let replicas: Vec<Replica> = replicas.collect();
        let clients = 6 + dice.below(8);
        let clients = (0..clients).map(|n| Client::new(n % 2 == 0)).collect();
        let endpoints = (0..GROUPS)
            .map(|_| vec![Pod::default(); 1 + dice.below(MOST)])
            .collect();
        let mut world = Self {
            parts,
            now: START * 1000,
            queue: BTreeMap::new(),
            tickets: 0,
            source,
            head: state,
            backups: VecDeque::new(),
            promised: BTreeMap::new(),
            said: vec![None; replicas.len()],
            replicas,
            clients,
            endpoints,
            turns_out: seed % 5 == 4,
            levels: (seed % 5 == 3).then_some(Dice(seed ^ 0x656e_6470_6f69_6e74)),
            ledger: Vec::new(),
            flights: BTreeMap::new(),
            codecs: vec![Rc::new(names::codec(0))],
            forger: names::forger(),
            neighbour: names::neighbour(),
            salt: salt(),
            history: History {
                sessions: HashMap::new(),
            },
            drained: BTreeMap::new(),
            placed: HashMap::new(),
            risky_until: 0,
            signing: "k0".parse().expect("a key's id"),
            rotated_at: START * 1000,
            faults: true,
            hurry: 0,
            trace: Trace::new(tells),
            record: None,
            dice,
        };
        for replica in 0..world.replicas.len() {
            let seen = std::array::from_fn(|group| world.pods(group));
            world.replicas[replica].endpoints = seen;
            world.acknowledge(replica);
        }
        world
    }

    /// What a replica's slewed clock shows.
    pub(super) fn clock(&self, replica: usize) -> Timestamp {
        Timestamp::from_millis(
            self.now
                .saturating_add_signed(self.replicas[replica].offset),
        )
    }

    /// The time that a replica takes for its tokens: the slewed clock, unless it is wrong.
    pub(super) fn taken(&self, replica: usize) -> Timestamp {
        let slewed = self.clock(replica);
        let stepped = self.replicas[replica].stepped;
        let wall = Timestamp::from_millis(slewed.as_millis().saturating_add_signed(stepped));
        self.parts.now(slewed, wall)
    }

    pub(super) fn codec(&self, replica: usize) -> Rc<PinCodec> {
        Rc::clone(&self.codecs[self.replicas[replica].epoch])
    }

    pub(super) fn after(&mut self, delay: Millis, event: Event) {
        self.tickets += 1;
        self.queue.insert((self.now + delay, self.tickets), event);
    }

    pub(super) fn is_cut(&self, replica: usize) -> bool {
        self.is_cut_off(replica) || self.is_gone(replica)
    }

    /// Whether the network keeps the engine from a replica.
    pub(super) fn is_cut_off(&self, replica: usize) -> bool {
        self.now < self.replicas[replica].cut_until
    }

    pub(super) fn is_up(&self, group: usize) -> bool {
        self.endpoints[group].iter().any(|pod| pod.up)
    }
}

fn first_state(weights: &[u64]) -> Rc<State> {
    let names: Vec<String> = (0..weights.len()).map(|n| format!("g{n}")).collect();
    let shares: Vec<(&str, u64)> = names
        .iter()
        .map(String::as_str)
        .zip(weights.iter().copied())
        .collect();
    State::new(rollout(10, &shares), Model::new(10, weights))
}
