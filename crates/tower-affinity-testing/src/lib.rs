//! Parts that tests of commit affinity share.

mod clock;
mod dice;
pub mod engine;
mod jar;
mod mutate;
mod readiness;
mod rollout;
pub mod sim;
pub mod store;

pub use clock::HandClock;
pub use jar::Jar;
pub use mutate::mutate;
pub use readiness::ScriptedReadiness;
pub use rollout::{START, active, after, id, name, rollout, weight};
