//! The verdict on a canary, played on thousands of rollouts: it alarms no more often than it says,
//! finds a worse canary about as soon as a test of fixed size would, and is not deceived by who was
//! there before.
//!
//! `cargo test -p tower-affinity-testing --test verdict -- --nocapture` prints what is measured.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod alarms;
mod bugs;
mod chance;
mod course;
mod late;
mod older;
mod power;
