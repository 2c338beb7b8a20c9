//! Traces and metrics by OTLP, to a collector that the environment names.
//!
//! The standard variables of OpenTelemetry hold: nothing is sent unless
//! `OTEL_EXPORTER_OTLP_ENDPOINT`, or that of one signal, is set; sampling, resource attributes,
//! headers and intervals are as they say. The protocol is `http/protobuf` without TLS, as an agent on
//! the same machine takes it.
//!
//! Begin it before the gateway starts, and end it after the gateway has ended.

mod names;
mod parent;

use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use thiserror::Error;
use tower_affinity::SPANS;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use self::names::Renamed;
pub(crate) use self::parent::adopt;
use crate::metrics::SECONDS;

/// What sends traces and metrics.
#[derive(Debug, Default)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
}

/// Telemetry that cannot begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// What the variables say of the collector cannot be used.
    #[error("the variables OTEL_EXPORTER_OTLP_… cannot be used")]
    Exporter(#[from] ExporterBuildError),
    /// Somebody has installed a recorder of metrics for the process already.
    #[error("the process has a recorder of metrics already")]
    Recorder,
}

impl Telemetry {
    /// Begins to send what the environment asks for, and installs the recorder of the metrics for the
    /// process. `service` is the `service.name` unless the environment says another.
    ///
    /// # Errors
    ///
    /// If the variables cannot be used, or the process has a recorder of metrics already.
    pub fn begin(service: &str) -> Result<Self, TelemetryError> {
        Self::begin_with(service, &|name| std::env::var(name).ok())
    }

    fn begin_with(
        service: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, TelemetryError> {
        let resource = || resource(service, env);
        let traces = is_wanted("TRACES", env).then(|| {
            let exporter = SpanExporter::builder().with_http().build()?;
            let provider = SdkTracerProvider::builder().with_resource(resource());
            Ok::<_, TelemetryError>(provider.with_batch_exporter(exporter).build())
        });
        let metrics = is_wanted("METRICS", env).then(|| {
            let exporter = MetricExporter::builder().with_http().build()?;
            let provider = SdkMeterProvider::builder().with_resource(resource());
            let provider = provider.with_periodic_exporter(exporter).build();
            let recorder = Renamed::new(provider.meter("affinity"), &SECONDS);
            metrics::set_global_recorder(recorder).map_err(|_| TelemetryError::Recorder)?;
            Ok::<_, TelemetryError>(provider)
        });
        Ok(Self {
            traces: traces.transpose()?,
            metrics: metrics.transpose()?,
        })
    }

    /// What turns the spans of requests into those of a trace; `None` if no traces are sent.
    #[must_use]
    pub fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer = self.traces.as_ref()?.tracer("affinity");
        let layer = tracing_opentelemetry::layer()
            .with_tracer(tracer)
            // where and how long code ran is for a profiler
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false);
        Some(layer.with_filter(Targets::new().with_target(SPANS, Level::DEBUG)))
    }

    /// Sends what is left, and ends. Blocks for seconds at most.
    ///
    /// # Errors
    ///
    /// If the collector does not take it.
    pub fn end(self) -> Result<(), OTelSdkError> {
        let traces = self.traces.map_or(Ok(()), |traces| traces.shutdown());
        let metrics = self.metrics.map_or(Ok(()), |metrics| metrics.shutdown());
        traces.and(metrics)
    }
}

/// Whether the environment names a collector for this signal, and does not turn it off.
fn is_wanted(signal: &str, env: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, word: &str| env(name).is_some_and(|is| is.eq_ignore_ascii_case(word));
    let named = |name: &str| env(name).is_some_and(|value| !value.is_empty());
    let off = is("OTEL_SDK_DISABLED", "true") || is(&format!("OTEL_{signal}_EXPORTER"), "none");
    !off && (named("OTEL_EXPORTER_OTLP_ENDPOINT")
        || named(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")))
}

fn resource(service: &str, env: &dyn Fn(&str) -> Option<String>) -> Resource {
    let attributes = env("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut names = attributes.split(',').filter_map(|one| one.split_once('='));
    let is_named =
        env("OTEL_SERVICE_NAME").is_some() || names.any(|(name, _)| name.trim() == "service.name");
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    match is_named {
        true => resource.build(),
        false => resource.with_service_name(service.to_owned()).build(),
    }
}
