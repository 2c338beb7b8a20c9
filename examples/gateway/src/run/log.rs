//! The log on stderr, and where there is telemetry the traces beside it.

use std::io;

use clap::ValueEnum;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry};

use crate::exit::{Exit, Failure};

/// The form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people
    Text,
    /// For machines, one object a line
    Json,
}

/// Logs from now on: what `directives` let through, by default from `info` on; `traces` takes what it
/// is for, whatever they say.
///
/// Without traces there is no layer for them, not an empty one: a layer without a filter is
/// interested in everything, and every span would be made for nobody.
pub(super) fn start<T>(
    format: LogFormat,
    directives: Option<&str>,
    traces: Option<T>,
) -> Result<(), Failure>
where
    T: Layer<Registry> + Send + Sync + 'static,
{
    let filter = filter(directives.unwrap_or_default())?;
    let registry = tracing_subscriber::registry();
    let started = match traces {
        Some(traces) => registry.with(traces).with(lines(format, filter)).try_init(),
        None => registry.with(lines(format, filter)).try_init(),
    };
    started.map_err(|error| Failure::new(Exit::Failed, "log", error.to_string()))
}

fn lines<S>(format: LogFormat, filter: EnvFilter) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    lines.with_filter(filter)
}

fn filter(directives: &str) -> Result<EnvFilter, Failure> {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    filter.parse(directives).map_err(|error| {
        let detail = format!(
            "RUST_LOG = {directives}: {error}; accepted: a level, or TARGET=LEVEL with commas \
             between, such as info or warn,affinity_gateway=debug"
        );
        Failure::new(Exit::Usage, "usage", detail)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn without_a_word_information_is_logged() {
        assert_eq!(filter("").unwrap().to_string(), "info");
        assert_eq!(filter("debug").unwrap().to_string(), "debug");
    }

    #[test]
    fn a_wrong_filter_names_the_variable() {
        let failure = filter("info,a=loud").unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure
                .problem
                .detail
                .starts_with("RUST_LOG = info,a=loud: ")
        );
    }
}
