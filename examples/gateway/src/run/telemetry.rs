//! Traces and metrics for a collector, where the binary has the feature for it.

#[cfg(not(feature = "otel"))]
use tracing_subscriber::layer::Identity;
#[cfg(feature = "otel")]
use tracing_subscriber::{Registry, layer::Layer};

#[cfg(feature = "otel")]
use crate::exit::Exit;
use crate::exit::Failure;

/// What is sent to a collector.
pub(super) struct Telemetry {
    #[cfg(feature = "otel")]
    sent: affinity_gateway::otel::Telemetry,
}

#[cfg(feature = "otel")]
impl Telemetry {
    /// Begins, if the environment asks for it.
    pub(super) fn begin(service: &str) -> Result<Self, Failure> {
        let sent = affinity_gateway::otel::Telemetry::begin(service).map_err(|error| {
            Failure::new(
                Exit::Usage,
                "telemetry",
                affinity_gateway::with_causes(&error),
            )
        })?;
        Ok(Self { sent })
    }

    /// What takes the spans of requests, if anything does.
    pub(super) fn layer(&self) -> Option<impl Layer<Registry> + Send + Sync + use<>> {
        self.sent.layer()
    }

    /// There is nothing to say.
    #[expect(clippy::unused_self, reason = "as without the feature")]
    pub(super) fn announce(&self) {}

    /// Sends what is left.
    pub(super) fn end(self) {
        if let Err(error) = self.sent.end() {
            tracing::warn!(%error, "the last traces and metrics did not reach the collector");
        }
    }
}

#[cfg(not(feature = "otel"))]
impl Telemetry {
    /// Begins nothing.
    #[expect(clippy::unnecessary_wraps, reason = "it can fail with the feature")]
    pub(super) fn begin(_service: &str) -> Result<Self, Failure> {
        Ok(Self {})
    }

    /// Takes nothing.
    pub(super) fn layer(&self) -> Option<Identity> {
        None
    }

    /// Says so if the environment asks for what this binary has not got.
    pub(super) fn announce(&self) {
        if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some() {
            tracing::warn!(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, and this binary has no telemetry: build it with \
                 the feature otel"
            );
        }
    }

    pub(super) fn end(self) {}
}
