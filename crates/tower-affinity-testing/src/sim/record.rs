//! What one run asked of its replicas and what they answered, for others to play again.

use tower_affinity_core::{Decision, EndpointId, Policy, Rollout, Said, Timestamp};

use super::parts::Real;
use super::replica::View;
use super::world::World;

/// One request to a replica and what became of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The candidates for the pin, as they were sent.
    pub pins: Vec<String>,
    /// The override, if one was sent.
    pub grant: Option<String>,
    /// What the scope asks for.
    pub policy: Policy,
    /// What the replica knew and saw when it decided.
    pub seen: Sees,
    /// The decision.
    pub decision: Decision,
    /// The answer; `None` if none came back.
    pub answer: Option<Answered>,
}

/// What a replica knows and sees at one moment.
#[derive(Clone, Debug)]
pub struct Sees {
    /// The time by its clock.
    pub now: Timestamp,
    /// Its snapshot.
    pub rollout: Rollout,
    /// Which groups are ready.
    pub ready: View,
    /// How many steps of rotations it has taken; see [`keyring`](super::keyring).
    pub epoch: usize,
}

/// An answer of the application, and what the replica made of it.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What the replica knew and saw when it came.
    pub seen: Sees,
    /// What the application said.
    pub said: Said,
    /// The endpoint that gave it, as far as it is told.
    pub served_by: Option<EndpointId>,
    /// Whether it is a stream.
    pub streams: bool,
    /// What it does to the client's pin.
    pub writes: Written,
}

/// What an answer carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing.
    Nothing,
    /// The pin is cleared.
    Clearing,
    /// The token of a pin.
    Pin(String),
}

/// Plays `steps` steps of `seed` and tells what was asked and answered. Requests whose replica asked
/// a shared engine for a newer state are left out: what comes of that is not the request's own.
///
/// # Panics
///
/// If an invariant does not hold.
#[must_use]
pub fn record(seed: u64, steps: u64) -> Vec<Exchange> {
    let mut world = World::new(seed, &Real, false);
    world.record = Some(Vec::new());
    for step in 0..steps {
        let done = world.step();
        assert!(done.is_ok(), "seed {seed}, step {step}: {done:?}");
    }
    world.record.unwrap_or_default()
}

impl World<'_> {
    pub(super) fn sees(&self, replica: usize, rollout: &Rollout, now: Timestamp) -> Sees {
        Sees {
            now,
            rollout: rollout.clone(),
            ready: self.replicas[replica].view(),
            epoch: self.replicas[replica].epoch,
        }
    }
}
