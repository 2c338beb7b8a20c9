//! The engine that the settings name.

use std::sync::Arc;

use tower_affinity::core::Engine;

use crate::config::StateSettings;
use crate::gateway::StartError;

/// The engine through which replicas share their state; `None` for the only one.
pub(crate) fn of(state: &StateSettings) -> Result<Option<Arc<dyn Engine>>, StartError> {
    match &state.etcd {
        Some(_) => Err(StartError::NoEtcd),
        None => Ok(None),
    }
}
