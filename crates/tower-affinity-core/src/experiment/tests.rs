//! Facts about experiments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod draws;
mod given;
mod pins;
mod sets;

use super::{Experiment, ExperimentError, ExperimentSet};
use crate::fixtures::weight;

fn made(name: &str, arms: &[(&str, u64)]) -> Result<Experiment, ExperimentError> {
    let arms = arms
        .iter()
        .map(|(arm, share)| (arm.parse().unwrap(), weight(*share)));
    Experiment::new(name.parse().unwrap(), arms)
}

fn experiment(name: &str, arms: &[(&str, u64)]) -> Experiment {
    made(name, arms).unwrap()
}

fn set(experiments: impl IntoIterator<Item = Experiment>) -> ExperimentSet {
    ExperimentSet::new(experiments).unwrap()
}
