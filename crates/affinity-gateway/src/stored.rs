//! The store of assignments that the settings name.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use tower_affinity::core::{Clock, MemoryStore, PinStore, ServiceName};
use tower_affinity::record::Recorder;
use tower_affinity::store::{GuardedStore, Sleep, Timer};

use crate::causes::with_causes;
use crate::config::{StoreKind, StoreSettings};
use crate::start_error::StartError;

/// How often a store sweeps and counts.
const UPKEEP: Duration = Duration::from_secs(1);

/// The store, guarded so that it holds no request up.
pub(crate) fn of(
    settings: &StoreSettings,
    service: &ServiceName,
    clock: &Arc<dyn Clock>,
    recorder: &Recorder,
) -> Result<GuardedStore, StartError> {
    let store = backend(&settings.kind, service)?;
    Ok(GuardedStore::new(store, Tokio)
        .patience(settings.timeout)
        .clock(Arc::clone(clock))
        .recorder(recorder.clone()))
}

fn backend(kind: &StoreKind, service: &ServiceName) -> Result<Arc<dyn PinStore>, StartError> {
    let _ = service;
    match kind {
        StoreKind::Memory { capacity } => Ok(Arc::new(MemoryStore::new(*capacity))),
        StoreKind::Redis(_) => Err(StartError::NoStore("redis")),
        StoreKind::DynamoDb { .. } => Err(StartError::NoStore("dynamodb")),
    }
}

/// Has the store sweep and count until `shutdown`.
pub(crate) async fn keep(store: GuardedStore, clock: Arc<dyn Clock>, shutdown: CancellationToken) {
    let mut ticks = interval(UPKEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failed = false;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.cancelled() => return,
        }
        let outcome = store.upkeep(clock.now()).await;
        if let Err(error) = &outcome
            && !failed
        {
            let error = with_causes(error);
            tracing::warn!(error, "live sessions cannot be counted");
        }
        failed = outcome.is_err();
    }
}

/// The runtime's timer.
#[derive(Debug)]
struct Tokio;

impl Timer for Tokio {
    fn sleep(&self, span: Duration) -> Sleep {
        Box::pin(sleep(span))
    }
}
