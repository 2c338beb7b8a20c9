//! A simulator: the real rules in a world of faults, played from a seed.
//!
//! **World.** One to three gateway replicas, each with its own rollout, view of what is ready, clock
//! (up to five minutes off) and step of a key rotation; two to four groups whose endpoints crash and
//! come back, in one run of five also elsewhere, with sessions that are bound to one of them; clients with cookie jars (the pin that arrives last wins, or the newest one) that ask
//! another replica each time, in parallel, lose and reorder `Set-Cookie`s, come back with old pins,
//! forge some, send several, and go away; testers who send overrides, of which some have ended or
//! are forged; applications that end, release and acknowledge; an operator who changes the rollout. Snapshots of a shared
//! engine come to the replicas late, twice, out of order or not at all; a replica that cannot reach
//! it takes aborts as facts, and the engine is set back to backups. Replicas crash, leave in good
//! order, come back and are forgotten; what they say of themselves is lost and late, and from that
//! each concludes which groups are drained. Without an engine each replica
//! has a file of its own and is told every order. Time is virtual, nothing is threaded, and
//! all that happens follows from the seed.
//!
//! **What is tested** is the core as it is ([`Parts`]): which of several pins counts, the rule, what
//! an answer writes, the tokens, the verbs of the rollout.
//!
//! **Oracles.** After every step: a small model, fed the same orders, says what each decision, each
//! pin and each state has to be (`model`, `oracle`); it looks into a ledger of what was issued and
//! opens no token. A second one (`history`) knows no rule: it follows the groups and revisions of
//! each session. At the end the faults stop, and everything has to be normal again.
//!
//! **Reading a failure.** It names the seed, the step, the invariant, and the last events:
//!
//! ```text
//!   client 4 sends Some((34, (0, 1), 47, 0)) to replica 0 (revision 50): moved/aborted Some((1, 1))
//!   order Abort { group: 2, .. } at None: revision 52
//! ```
//!
//! A pin is told as (first bits of the session, (group, generation), revision, moves). The seed alone
//! plays it again: `cargo run -p tower-affinity-testing --example sim -- --from SEED --seeds 1`.
#![allow(clippy::indexing_slicing, clippy::expect_used)] // all of it is test code

mod calm;
mod client;
mod control;
mod fleet;
mod flight;
mod grant;
mod history;
mod ledger;
mod model;
mod names;
mod oracle;
mod parts;
mod place;
mod reached;
mod record;
mod replica;
mod step;
mod trace;
mod traffic;
mod world;

use std::fmt;

use self::world::World;

pub use self::names::{forger, keyring};
pub use self::parts::{Order, Parts, Real, Stay};
pub use self::reached::Reached;
pub use self::record::{Answered, Exchange, Sees, Written, record};
pub use self::replica::View;

/// How many steps a run has by default.
pub const STEPS: u64 = 5_000;

/// An invariant that does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    invariant: &'static str,
    message: String,
}

impl Violation {
    fn of<T>(invariant: &'static str, message: String) -> Result<T, Self> {
        Err(Self { invariant, message })
    }
}

/// What a run without a violation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// A hash of everything that happened: the same seed gives the same one.
    pub hash: u64,
    /// The rare situations that were met.
    pub reached: Reached,
}

/// A run in which an invariant did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the run.
    pub seed: u64,
    /// The step; [`STEPS`] or what the run was given means the calm at its end.
    pub step: u64,
    /// The invariant.
    pub invariant: &'static str,
    /// What was seen.
    pub message: String,
    /// The events before it, the latest last.
    pub events: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in &self.events {
            writeln!(f, "  {event}")?;
        }
        let Self {
            seed,
            step,
            invariant,
            message,
            ..
        } = self;
        write!(f, "seed {seed}, step {step}: {invariant}: {message}")
    }
}

/// Plays `steps` steps of `seed` with `parts`, then lets the faults stop.
///
/// # Errors
///
/// The first violation, with the events that led to it.
pub fn simulate(seed: u64, steps: u64, parts: &dyn Parts) -> Result<Finished, Box<Failure>> {
    match play(seed, steps, parts, false) {
        (world, None) => Ok(Finished {
            hash: world.trace.hash,
            reached: world.trace.reached,
        }),
        // the second time every event is written out
        (_, Some(_)) => {
            let (world, failed) = play(seed, steps, parts, true);
            let (step, violation) = failed.unwrap_or_else(|| {
                let message = "a second run of the seed went well".to_owned();
                (
                    0,
                    Violation {
                        invariant: "I14 same seed, same trace",
                        message,
                    },
                )
            });
            Err(Box::new(Failure {
                seed,
                step,
                invariant: violation.invariant,
                message: violation.message,
                events: world.trace.into_events(),
            }))
        }
    }
}

fn play<'p>(
    seed: u64,
    steps: u64,
    parts: &'p dyn Parts,
    tells: bool,
) -> (World<'p>, Option<(u64, Violation)>) {
    let mut world = World::new(seed, parts, tells);
    world.introduce();
    for step in 0..steps {
        if let Err(violation) = world.step() {
            return (world, Some((step, violation)));
        }
    }
    let calm = world.calm().err().map(|violation| (steps, violation));
    (world, calm)
}
