//! All metrics of one gateway, rendered for Prometheus.
//!
//! Each gateway has an exporter of its own, so that several can run in one process.

#[cfg(feature = "otel")]
mod both;
mod connections;
mod discovery;
mod exporter;
mod health;
mod shared;
mod streams;
mod transport;
mod upstream;
mod verdicts;

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Key, Level, Metadata, Recorder as _, Unit};
use tokio_util::sync::CancellationToken;
use tower_affinity::core::Rollout;
use tower_affinity::record::Recorder;
use tower_affinity::store::GuardedStore;

pub(crate) use self::connections::ConnectionSeries;
pub(crate) use self::discovery::DiscoverySeries;
use self::exporter::Page;
#[cfg(feature = "otel")]
pub(crate) use self::exporter::SECONDS;
pub(crate) use self::health::HealthSeries;
use self::shared::SharedSeries;
pub(crate) use self::streams::StreamSeries;
pub(crate) use self::transport::TransportSeries;
pub(crate) use self::verdicts::VerdictSeries;
use crate::control::Control;
use crate::upgrade::Offered;
use crate::upstream::Timeouts;

/// How often the exporter tidies its samples up.
const UPKEEP: Duration = Duration::from_secs(5);

/// The exporter and what records into it.
#[derive(Clone)]
pub(crate) struct Metrics {
    page: Page,
    recorder: Recorder,
    config_rejected: Counter,
    upgrades: [Counter; 2],
    access_lost: Counter,
    discovery: DiscoverySeries,
    health: HealthSeries,
    shared: SharedSeries,
    transport: TransportSeries,
    connections: ConnectionSeries,
    streams: StreamSeries,
    timeouts: Timeouts,
    verdicts: VerdictSeries,
}

const CONFIG_REJECTED: &str = "affinity_config_rejected_total";
const ACCESS_LOST: &str = "affinity_access_log_lost_total";
const UPGRADES: &str = "affinity_upgrades_total";

impl Metrics {
    pub(crate) fn new() -> Result<Self, String> {
        let (exporter, page) = exporter::build()?;
        let help = "Edits of the configuration of which nothing was applied.";
        exporter.describe_counter(CONFIG_REJECTED.into(), Some(Unit::Count), help.into());
        let metadata = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        let config_rejected =
            exporter.register_counter(&Key::from_static_name(CONFIG_REJECTED), &metadata);
        let help = "Times that another process took over from this one, or failed to.";
        exporter.describe_counter(UPGRADES.into(), Some(Unit::Count), help.into());
        let upgrades = ["done", "failed"].map(|outcome| {
            let label = metrics::Label::new("outcome", outcome);
            let key = Key::from_parts(UPGRADES, vec![label]);
            exporter.register_counter(&key, &metadata)
        });
        let help = "Lines of the access log that could not be written.";
        exporter.describe_counter(ACCESS_LOST.into(), Some(Unit::Count), help.into());
        let access_lost = exporter.register_counter(&Key::from_static_name(ACCESS_LOST), &metadata);
        let shared = SharedSeries::register(&*exporter, &metadata);
        let transport = TransportSeries::register(&*exporter, &metadata);
        let connections = ConnectionSeries::register(&*exporter, &metadata);
        let streams = StreamSeries::register(&*exporter, &metadata);
        let timeouts = upstream::timeouts(&*exporter, &metadata);
        Ok(Self {
            page,
            recorder: Recorder::new(Arc::clone(&exporter)),
            config_rejected,
            upgrades,
            access_lost,
            discovery: DiscoverySeries::register(Arc::clone(&exporter)),
            health: HealthSeries::register(Arc::clone(&exporter)),
            verdicts: VerdictSeries::register(exporter),
            shared,
            transport,
            connections,
            streams,
            timeouts,
        })
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Shows the rollout as it is, and each state that comes.
    pub(crate) fn follow(&self, control: &Control) {
        let recorder = self.recorder.clone();
        let clock = control.clock();
        let show = move |rollout: &Arc<Rollout>| {
            recorder.rollout(rollout);
            recorder.step(rollout, clock.now());
        };
        show(&control.rollouts().current());
        control.rollouts().subscribe(show);
    }

    pub(crate) fn config_rejected(&self) {
        self.config_rejected.increment(1);
    }

    /// Counts lines of the access log that could not be written.
    pub(crate) fn access_lost(&self) -> Counter {
        self.access_lost.clone()
    }

    /// What is counted of connections.
    pub(crate) fn connections(&self) -> &ConnectionSeries {
        &self.connections
    }

    /// What is counted of connections before HTTP.
    pub(crate) fn transport(&self) -> &TransportSeries {
        &self.transport
    }

    /// What is counted of streams of events.
    pub(crate) fn streams(&self) -> &StreamSeries {
        &self.streams
    }

    pub(crate) fn upgraded(&self, offered: Offered) {
        let [done, failed] = &self.upgrades;
        match offered {
            Offered::Done => done.increment(1),
            Offered::Failed => failed.increment(1),
        }
    }

    /// Counts what sources of endpoints say.
    pub(crate) fn discovery(&self) -> &DiscoverySeries {
        &self.discovery
    }

    /// Shows what is known of canaries.
    pub(crate) fn verdicts(&self) -> &VerdictSeries {
        &self.verdicts
    }

    /// Counts health checks.
    pub(crate) fn health(&self) -> &HealthSeries {
        &self.health
    }

    /// Counts exchanges with endpoints that took too long.
    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Renders everything as text, with the endpoints as they are now.
    pub(crate) fn renderer(
        &self,
        control: &Control,
        store: Option<&GuardedStore>,
    ) -> Arc<dyn Fn() -> String + Send + Sync> {
        let (metrics, control, store) = (self.clone(), control.clone(), store.cloned());
        Arc::new(move || {
            metrics.show(&control, store.as_ref());
            metrics.page.render()
        })
    }

    /// Shows what is not counted as it happens, as it is now.
    fn show(&self, control: &Control, store: Option<&GuardedStore>) {
        if let Some(store) = store {
            self.recorder
                .store(store, &control.rollouts().current(), control.now());
        }
        self.recorder.endpoints(control.groups());
        self.recorder.sessions(control.now());
        self.shared.show(control);
        self.discovery.show(control);
    }

    /// Tidies up until the gateway ends. Who is sent the metrics and does not ask for them gets the
    /// present here.
    pub(crate) async fn upkeep(
        self,
        control: Control,
        store: Option<GuardedStore>,
        shutdown: CancellationToken,
    ) {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.page.upkeep(),
                () = shutdown.cancelled() => return,
            }
            if cfg!(feature = "otel") {
                self.show(&control, store.as_ref());
            }
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ACCESS_LOST, CONFIG_REJECTED, UPGRADES, connections, discovery, health, shared, streams,
        transport, upstream, verdicts,
    };

    #[test]
    fn the_page_has_a_row_for_each_of_the_gateways_own_metrics() {
        let page = include_str!("../../../../docs/metrics.md");
        let own = [
            connections::OPEN,
            connections::ENDED,
            connections::LIMITS,
            connections::INTERIM,
            discovery::STALE,
            discovery::FAILURES,
            health::CHECKS,
            shared::AGE,
            shared::FACTS,
            shared::REGRESSIONS,
            shared::REJECTED,
            streams::OPEN,
            streams::REFUSED,
            transport::HANDSHAKES,
            transport::HEADERS,
            transport::NOT_AFTER,
            verdicts::FAILED,
            verdicts::SESSIONS,
            verdicts::VERDICT,
        ];
        for name in own.map(|(name, _)| name).into_iter().chain([
            ACCESS_LOST,
            CONFIG_REJECTED,
            UPGRADES,
            upstream::TIMEOUTS,
        ]) {
            let row = format!("\n| `{name}` | ");
            assert!(page.contains(&row), "docs/metrics.md has no row of {name}");
        }
    }
}
