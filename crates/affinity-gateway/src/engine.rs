//! The engine that the settings name.

use std::sync::Arc;

use tower_affinity::core::Engine;

use crate::config::StateSettings;
use crate::start_error::StartError;

/// The engine through which replicas share their state; `None` for the only one.
pub(crate) fn of(state: &StateSettings) -> Result<Option<Arc<dyn Engine>>, StartError> {
    state.etcd.as_ref().map(backend::over).transpose()
}

#[cfg(feature = "etcd")]
mod backend {
    use tower_affinity::etcd::{EtcdEngine, EtcdOptions};

    use super::{Arc, Engine, StartError};
    use crate::config::EtcdSettings;

    pub(super) fn over(etcd: &EtcdSettings) -> Result<Arc<dyn Engine>, StartError> {
        let engine = EtcdEngine::new(&etcd.endpoints, &etcd.prefix, EtcdOptions::new());
        Ok(Arc::new(engine.map_err(StartError::Etcd)?))
    }
}

#[cfg(not(feature = "etcd"))]
mod backend {
    use super::{Arc, Engine, StartError};
    use crate::config::EtcdSettings;

    pub(super) fn over(_: &EtcdSettings) -> Result<Arc<dyn Engine>, StartError> {
        Err(StartError::NoEtcd)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::causes::with_causes;
    use crate::config::EtcdSettings;

    fn state(endpoint: Option<&str>) -> StateSettings {
        StateSettings {
            file: "/nowhere/state.json".into(),
            etcd: endpoint.map(|endpoint| EtcdSettings {
                endpoints: vec![endpoint.to_owned()],
                prefix: "/affinity/checkout".to_owned(),
            }),
        }
    }

    fn refusal(endpoint: &str) -> String {
        with_causes(&of(&state(Some(endpoint))).unwrap_err())
    }

    #[test]
    fn the_only_replica_has_no_engine() {
        assert!(of(&state(None)).unwrap().is_none());
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn the_engine_is_made_without_asking_the_server() {
        assert!(of(&state(Some("http://127.0.0.1:1"))).unwrap().is_some());
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn a_place_that_etcd_cannot_be_at_is_refused_with_its_key() {
        let told = refusal("https://10.0.0.1:2379");
        assert!(
            told.starts_with("state.etcd") && told.contains("https"),
            "{told}"
        );
    }

    #[cfg(not(feature = "etcd"))]
    #[test]
    fn a_build_without_etcd_says_which_feature_is_missing() {
        let told = refusal("http://127.0.0.1:2379");
        assert!(
            told.contains("state.etcd") && told.contains("feature etcd"),
            "{told}"
        );
    }
}
