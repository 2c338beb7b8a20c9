//! What the simulator tests: the real core, each part of which a test can replace by a wrong one.

use std::collections::BTreeMap;
use std::time::Duration;

use tower_affinity_core::{
    AbortPolicy, AbortRequest, Announced, Answer, Bounds, Change, Chosen, Fact, Fault, Fleet,
    Group, GroupId, GroupName, Inputs, Left, Lifetimes, Meeting, Outcome, Override, PinCodec,
    Readiness, Refusal, ReplicaRecord, Revision, Rollout, SessionPin, Settled, Standing, Timestamp,
    Weight, choose, contribution, decide, meet, obeyed, settle,
};

use super::names::name_of;

/// A change that an operator asks for. Groups are told by number: group 2 is named `g2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Registers a group, with a weight.
    Register(u8, u64),
    /// Gives groups new weights.
    Weights(Vec<(u8, u64)>),
    /// Makes a group stable with all the weight.
    Promote(u8),
    /// Ends new sessions.
    Drain(u8),
    /// Moves a group's sessions away.
    Abort {
        /// The group.
        group: u8,
        /// The target; by default the one that the rules name.
        to: Option<u8>,
        /// What happens to the sessions.
        policy: Option<Stay>,
        /// Skips the check that the target is ready.
        force: bool,
    },
    /// Refuses everything but aborts from now on, or no more.
    Lock(bool),
    /// Brings a group back under the next generation.
    Restore(u8),
    /// Declares a group's endpoints gone.
    Retire {
        /// The group.
        group: u8,
        /// Skips the check that the group is drained.
        force: bool,
    },
}

/// The policy of an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Sessions move.
    Move,
    /// They stay for that many seconds.
    For(u64),
    /// They end.
    End,
}

impl Stay {
    pub(super) fn policy(self, now: Timestamp) -> AbortPolicy {
        match self {
            Self::Move => AbortPolicy::Move,
            Self::For(secs) => AbortPolicy::Stay {
                until: now.plus(Duration::from_secs(secs)),
            },
            Self::End => AbortPolicy::End,
        }
    }
}

/// The real parts. A planted bug overrides one method; a feature would be on for everyone.
pub trait Parts: Sync {
    /// The time that tokens live by: slewed, whatever the machine's wall clock does.
    fn now(&self, slewed: Timestamp, _wall: Timestamp) -> Timestamp {
        slewed
    }

    /// Opens a token.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    fn open(
        &self,
        codec: &PinCodec,
        token: &[u8],
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Result<SessionPin, Fault> {
        codec.open(token, now, lifetimes).map(|opened| opened.pin)
    }

    /// Opens an override.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    fn open_override(
        &self,
        codec: &PinCodec,
        token: &[u8],
        now: Timestamp,
    ) -> Result<Override, Fault> {
        codec.open_override(token, now)
    }

    /// Chooses among the candidates of one carrier.
    fn choose(
        &self,
        candidates: &[&[u8]],
        open: &dyn Fn(&[u8]) -> Result<SessionPin, Fault>,
    ) -> Chosen {
        choose(candidates, |token| open(token))
    }

    /// Decides a request.
    fn decide(&self, inputs: &Inputs<'_>) -> Outcome {
        decide(inputs)
    }

    /// Settles the pin of an answer.
    fn settle(&self, answer: &Answer<'_>, is_aborted: &dyn Fn(&GroupId) -> bool) -> Settled {
        settle(answer, is_aborted)
    }

    /// Whether a state that was delivered replaces a replica's own.
    fn supersedes(&self, new: &Rollout, own: &Rollout) -> bool {
        new.revision() > own.revision()
    }

    /// What a replica obeys, which knows aborts that the shared state does not.
    fn obeyed(&self, shared: &Rollout, facts: &[Fact]) -> Rollout {
        obeyed(shared, facts)
    }

    /// How an abort that only one replica knows stands to the shared state.
    fn standing(&self, fact: &Fact, shared: &Rollout) -> Standing {
        fact.standing(shared)
    }

    /// What becomes of the state of a replica and the shared one.
    fn meet(&self, ours: &Rollout, theirs: &Rollout) -> Meeting {
        meet(ours, theirs)
    }

    /// What a replica knows and the shared state does not.
    fn contribution(
        &self,
        shared: &Rollout,
        facts: &[Fact],
        shown: Revision,
        change: Change,
    ) -> Option<Rollout> {
        contribution(shared, facts, || None, shown, change)
    }

    /// The state of which a replica tells the others, of the shared one and what it obeys.
    fn told<'a>(&self, _shared: &'a Rollout, obeyed: &'a Rollout) -> &'a Rollout {
        obeyed
    }

    /// All replicas, as one of them sees them.
    fn fleet(&self, name: &str, own: ReplicaRecord, announced: &[Announced]) -> Fleet {
        Fleet::new(name, own, announced)
    }

    /// What is left of a group.
    fn left(&self, fleet: &Fleet, group: &Group, bounds: Bounds) -> Left {
        fleet.left(group, bounds)
    }

    /// Changes a rollout.
    ///
    /// # Errors
    ///
    /// If the rules refuse the change.
    fn change(
        &self,
        rollout: &Rollout,
        order: &Order,
        ready: &dyn Readiness,
        drained_by: Option<Timestamp>,
        change: Change,
    ) -> Result<Rollout, Refusal> {
        match order {
            Order::Register(group, share) => {
                rollout.register(name_of(*group), weight(*share), change)
            }
            Order::Weights(shares) => {
                let shares: BTreeMap<GroupName, Weight> = shares
                    .iter()
                    .map(|(group, share)| (name_of(*group).clone(), weight(*share)))
                    .collect();
                rollout.weights(&shares, change)
            }
            Order::Promote(group) => rollout.promote(name_of(*group), change),
            Order::Drain(group) => rollout.drain(name_of(*group), change),
            Order::Abort {
                group,
                to,
                policy,
                force,
            } => {
                let request = AbortRequest {
                    to: to.map(|to| name_of(to).clone()),
                    policy: policy.map(|policy| policy.policy(change.now)),
                    force: *force,
                };
                rollout.abort(name_of(*group), &request, ready, change)
            }
            Order::Lock(true) => Ok(rollout.lock(change)),
            Order::Lock(false) => Ok(rollout.unlock(change)),
            Order::Restore(group) => rollout.restore(name_of(*group), change),
            Order::Retire { group, force } => {
                rollout.retire(name_of(*group), drained_by, *force, change)
            }
        }
    }
}

/// Nothing is replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl Parts for Real {}

fn weight(share: u64) -> Weight {
    Weight::new(share).unwrap_or(Weight::MAX)
}
