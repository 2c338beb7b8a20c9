//! The layer and its settings.

use std::fmt;
use std::sync::Arc;

use tower_affinity::core::Clock;
use tower_layer::Layer;

use super::{Access, AccessLog};

/// Logs and traces requests; see the [module](super).
#[derive(Clone)]
pub(crate) struct AccessLayer {
    pub(super) log: Option<AccessLog>,
    pub(super) clock: Arc<dyn Clock>,
}

impl AccessLayer {
    /// Writes to `log`, with the times of `clock`; without a log it only traces.
    pub(crate) fn new(log: Option<AccessLog>, clock: Arc<dyn Clock>) -> Self {
        Self { log, clock }
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = Access<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Access::new(inner, self.clone())
    }
}

impl fmt::Debug for AccessLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLayer")
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}
