//! [`Experiments`]: which there are, and what each is drawn by.

use http::{HeaderMap, HeaderName};
use tower_affinity_core::{DrawKey, DrawSalt, Experiment, ExperimentError, ExperimentSet};

use crate::wire::{cookie_key, header_key};

/// The experiments of a service, at most
/// [`MAX_EXPERIMENTS`](tower_affinity_core::MAX_EXPERIMENTS), and what their arms are drawn by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Experiments {
    set: ExperimentSet,
    /// One for each of the set.
    by: Vec<DrawBy>,
}

/// What an arm is drawn by. A key from the client is a preference and no secret: whoever picks it
/// picks the arm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DrawBy {
    /// The session's id.
    #[default]
    Session,
    /// The value of a request header; the session's id where a request has none.
    Header(HeaderName),
    /// The value of a cookie of the application; the session's id where a request has none.
    Cookie(Box<str>),
}

impl Experiments {
    /// These experiments, each drawn by the session's id.
    ///
    /// # Errors
    ///
    /// If there are too many, or two cannot be told apart in pins.
    pub fn new(experiments: impl IntoIterator<Item = Experiment>) -> Result<Self, ExperimentError> {
        let set = ExperimentSet::new(experiments)?;
        Ok(Self {
            by: vec![DrawBy::default(); set.as_slice().len()],
            set,
        })
    }

    /// Draws one of them by something else than the session's id.
    ///
    /// # Errors
    ///
    /// If there is no experiment of that name.
    pub fn drawn_by(mut self, experiment: &str, by: DrawBy) -> Result<Self, ExperimentError> {
        let position = self.set.position(experiment);
        match position.and_then(|position| self.by.get_mut(position)) {
            Some(place) => *place = by,
            None => return Err(ExperimentError::Unknown(experiment.to_owned())),
        }
        Ok(self)
    }

    /// The experiments.
    #[must_use]
    pub fn as_set(&self) -> &ExperimentSet {
        &self.set
    }

    /// The experiments, each with what it is drawn by.
    pub fn iter(&self) -> impl Iterator<Item = (&Experiment, &DrawBy)> {
        self.set.as_slice().iter().zip(&self.by)
    }

    /// What each is drawn by in a request; empty where all are drawn by the session's id.
    pub(crate) fn keys(&self, salt: &DrawSalt, headers: &HeaderMap) -> Vec<Option<DrawKey>> {
        if self.by.iter().all(|by| *by == DrawBy::Session) {
            return Vec::new();
        }
        let key = |by: &DrawBy| match by {
            DrawBy::Session => None,
            DrawBy::Header(name) => header_key(salt, headers, name),
            DrawBy::Cookie(name) => cookie_key(salt, headers, name),
        };
        self.by.iter().map(key).collect()
    }
}
