//! [`ExperimentSet`]: the experiments of one service.

use std::sync::Arc;

use super::{Experiment, ExperimentError};

/// The most experiments at a time.
///
/// They share the 512 bytes of a pin with everything else: eight of them take 69 bytes of a token,
/// which is what service and key names of usual length leave beside a session that was moved.
pub const MAX_EXPERIMENTS: usize = 8;

/// The experiments of one service, at most [`MAX_EXPERIMENTS`]; by default none. Clones are cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExperimentSet(Arc<[Experiment]>);

impl ExperimentSet {
    /// A set of these experiments.
    ///
    /// # Errors
    ///
    /// If there are too many, or two cannot be told apart.
    pub fn new(experiments: impl IntoIterator<Item = Experiment>) -> Result<Self, ExperimentError> {
        let mut known: Vec<Experiment> = Vec::new();
        for experiment in experiments {
            if let Some(same) = known.iter().find(|known| known.code() == experiment.code()) {
                let names = (same.name().clone(), experiment.name().clone());
                return Err(ExperimentError::SameExperiments(names.0, names.1));
            }
            if known.len() == MAX_EXPERIMENTS {
                return Err(ExperimentError::TooManyExperiments);
            }
            known.push(experiment);
        }
        Ok(Self(known.into()))
    }

    /// The experiments, in the order in which they were given.
    #[must_use]
    pub fn as_slice(&self) -> &[Experiment] {
        &self.0
    }

    /// Where the experiment of that name is in the set.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        let mut names = self.0.iter().map(|experiment| experiment.name().as_str());
        names.position(|known| known == name)
    }
}
