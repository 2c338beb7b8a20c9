//! What is wrong with experiments.

use thiserror::Error;

use super::{ArmName, ExperimentName, MAX_ARMS, MAX_EXPERIMENTS};

/// Why something is no experiment, or no set of them.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExperimentError {
    /// An experiment has too many arms.
    #[error("the experiment \"{0}\" has more than {MAX_ARMS} arms")]
    TooManyArms(ExperimentName),
    /// No arm of an experiment has weight, so that nobody could be given one.
    #[error("no arm of the experiment \"{0}\" has weight")]
    NoWeight(ExperimentName),
    /// Two arms of an experiment have one name, or names that pins cannot tell apart.
    #[error("pins cannot tell the arms \"{1}\" and \"{2}\" of the experiment \"{0}\" apart")]
    SameArms(ExperimentName, ArmName, ArmName),
    /// A set has too many experiments.
    #[error("there are more than {MAX_EXPERIMENTS} experiments, which a pin has no room for")]
    TooManyExperiments,
    /// Two experiments have one name, or names that pins cannot tell apart.
    #[error("pins cannot tell the experiments \"{0}\" and \"{1}\" apart")]
    SameExperiments(ExperimentName, ExperimentName),
    /// There is no experiment of that name.
    #[error("there is no experiment \"{0}\"")]
    Unknown(String),
}
