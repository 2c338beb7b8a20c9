//! All metrics of one gateway, rendered for Prometheus.
//!
//! Each gateway has an exporter of its own, so that several can run in one process.

mod connections;
mod discovery;
mod health;
mod shared;
mod streams;
mod transport;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Key, Level, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use tokio_util::sync::CancellationToken;
use tower_affinity::record::Recorder;
use tower_affinity::store::GuardedStore;

pub(crate) use self::connections::ConnectionSeries;
pub(crate) use self::discovery::DiscoverySeries;
pub(crate) use self::health::HealthSeries;
use self::shared::SharedSeries;
pub(crate) use self::streams::StreamSeries;
pub(crate) use self::transport::TransportSeries;
use crate::control::Control;
use crate::upgrade::Offered;
use crate::upstream::Timeouts;

/// Upper bounds in seconds: those of the semantic conventions for the duration of HTTP requests,
/// with three finer ones, since a gateway adds less than a millisecond.
const SECONDS: [f64; 17] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0,
    7.5, 10.0,
];

/// How often the exporter tidies its samples up.
const UPKEEP: Duration = Duration::from_secs(5);

/// The exporter and what records into it.
#[derive(Clone)]
pub(crate) struct Metrics {
    handle: PrometheusHandle,
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
}

const CONFIG_REJECTED: &str = "affinity_config_rejected_total";
const ACCESS_LOST: &str = "affinity_access_log_lost_total";
const UPGRADES: &str = "affinity_upgrades_total";

impl Metrics {
    pub(crate) fn new() -> Result<Self, String> {
        let exporter = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
            .map_err(|error| error.to_string())?
            .build_recorder();
        let handle = exporter.handle();
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
        let shared = SharedSeries::register(&exporter, &metadata);
        let transport = TransportSeries::register(&exporter, &metadata);
        let connections = ConnectionSeries::register(&exporter, &metadata);
        let streams = StreamSeries::register(&exporter, &metadata);
        let timeouts = upstream::timeouts(&exporter, &metadata);
        let exporter = Arc::new(exporter);
        Ok(Self {
            handle,
            recorder: Recorder::new(Arc::<PrometheusRecorder>::clone(&exporter)),
            config_rejected,
            upgrades,
            access_lost,
            discovery: DiscoverySeries::register(Arc::<PrometheusRecorder>::clone(&exporter)),
            health: HealthSeries::register(exporter),
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
        recorder.rollout(&control.rollouts().current());
        control
            .rollouts()
            .subscribe(move |rollout| recorder.rollout(rollout));
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
            if let Some(store) = &store {
                metrics
                    .recorder
                    .store(store, &control.rollouts().current(), control.now());
            }
            metrics.recorder.endpoints(control.groups());
            metrics.recorder.sessions(control.now());
            metrics.shared.show(&control);
            metrics.discovery.show(&control);
            metrics.handle.render()
        })
    }

    /// Tidies up until the gateway ends.
    pub(crate) async fn upkeep(self, shutdown: CancellationToken) {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.handle.run_upkeep(),
                () = shutdown.cancelled() => return,
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
        transport, upstream,
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
