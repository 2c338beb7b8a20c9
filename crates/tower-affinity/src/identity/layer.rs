//! The layer [`GroupIdentityLayer`].

use tower_affinity_core::GroupName;
use tower_layer::Layer;

use super::error::IdentityError;
use super::service::GroupIdentity;
use crate::record::Recorder;

/// Refuses requests that were meant for another group; see the [module](super).
#[derive(Clone, Debug)]
#[must_use]
pub struct GroupIdentityLayer {
    group: GroupName,
    recorder: Recorder,
}

impl GroupIdentityLayer {
    /// This process serves `group`.
    pub fn new(group: GroupName) -> Self {
        Self {
            group,
            recorder: Recorder::default(),
        }
    }

    /// This process serves the group that was named when its binary was built: give
    /// `option_env!("AFFINITY_GROUP")`.
    ///
    /// # Errors
    ///
    /// If none was named, or not by the name of a group.
    pub fn stamped(group: Option<&'static str>) -> Result<Self, IdentityError> {
        let group = group.ok_or(IdentityError::NotStamped)?;
        Ok(Self::new(group.parse()?))
    }

    /// This process serves the group that the environment variable names.
    ///
    /// # Errors
    ///
    /// If it is not set, or does not hold the name of a group.
    pub fn from_env(variable: &str) -> Result<Self, IdentityError> {
        let group = std::env::var(variable);
        let group = group.map_err(|_| IdentityError::Variable(variable.to_owned()))?;
        Ok(Self::new(group.parse()?))
    }

    /// What counts the requests that are refused.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }
}

impl<S> Layer<S> for GroupIdentityLayer {
    type Service = GroupIdentity<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GroupIdentity::new(inner, self.group.clone(), self.recorder.clone())
    }
}
