//! Experiments beside groups: which arm a session has, the same on every commit that serves it.
//!
//! A layer that is given [`Experiments`] gives each session one arm of each, by weight, and its pin
//! keeps it: changed weights move no session between arms, and neither does a rollout. Handlers and
//! layers inside find the session's [`Arms`] in the extensions of the request (with the feature `axum`
//! it is an extractor), and endpoints behind a [`GroupTagLayer`](crate::GroupTagLayer) in the header
//! `affinity-arms: checkout-button=green, search=b`.
//!
//! Requests without a session have no arm: those that a scope does not bind, that a browser may have
//! kept the cookie back from, and browsers' own questions. The application serves them what it serves
//! everybody without the experiment.
//!
//! `affinity_exposures_total{experiment,arm}` counts a session once for each experiment, when the
//! answer is there that first carries the arm; a client that returns no pin begins a session with each
//! request and is counted with each. `docs/experiments.md` says how to run an experiment and what its
//! numbers are worth.
//!
//! ```
//! use tower_affinity::core::{Experiment, Weight};
//! use tower_affinity::experiments::Experiments;
//! # use tower_affinity::AffinityLayer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let arms = [
//!     ("control".parse()?, Weight::new(50)?),
//!     ("green".parse()?, Weight::new(50)?),
//! ];
//! let button = Experiment::new("checkout-button".parse()?, arms)?;
//! let affinity = AffinityLayer::builder().experiments(Experiments::new([button])?);
//! # let _ = affinity; Ok(()) }
//! ```
//!
//! Customised: all sessions that one user begins have the same arm, for as long as the weights stay.
//! A session that begins before the user is known is drawn by its own id, and keeps that arm.
//!
//! ```
//! # use tower_affinity::core::{Experiment, Weight};
//! use tower_affinity::experiments::{DrawBy, Experiments};
//!
//! # fn experiments(button: Experiment) -> Result<Experiments, Box<dyn std::error::Error>> {
//! let user = DrawBy::Header(http::HeaderName::from_static("x-user-id"));
//! let experiments = Experiments::new([button])?.drawn_by("checkout-button", user)?;
//! # Ok(experiments) }
//! ```

mod arms;
mod set;

pub use self::arms::Arms;
pub use self::set::{DrawBy, Experiments};
