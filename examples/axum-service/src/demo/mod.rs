//! `--demo`: three processes of two commits behind a balancer that knows no sessions, and no gateway.
//!
//! `show` is the script; it starts a `deployment`, changes its rollout by the file that the processes
//! follow, and lets clients `walk` the flow meanwhile. What they meet is counted by the `tally`.

mod deployment;
mod show;
mod tally;
mod walk;

pub use self::show::demo;

use std::error::Error;

type BoxError = Box<dyn Error + Send + Sync>;
