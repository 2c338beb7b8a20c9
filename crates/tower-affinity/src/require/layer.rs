//! The layer [`RequireGroupLayer`].

use tower_affinity_core::GroupName;
use tower_layer::Layer;

use super::service::RequireGroupService;
use crate::record::Recorder;

/// Serves what was decided for one group; see the [module](super).
#[derive(Clone, Debug)]
#[must_use]
pub struct RequireGroupLayer {
    group: GroupName,
    recorder: Recorder,
}

impl RequireGroupLayer {
    /// Only requests for `group` pass.
    pub fn new(group: GroupName) -> Self {
        Self {
            group,
            recorder: Recorder::default(),
        }
    }

    /// What counts the requests that are refused; by default the global recorder.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }
}

impl<S> Layer<S> for RequireGroupLayer {
    type Service = RequireGroupService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequireGroupService::new(inner, self.group.clone(), self.recorder.clone())
    }
}
