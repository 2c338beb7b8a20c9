//! The log on stderr.

use std::io;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use crate::exit::{Exit, Failure};

/// The form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people
    Text,
    /// For machines, one object a line
    Json,
}

/// Logs from now on: what `directives` let through, by default from `info` on.
pub(super) fn start(format: LogFormat, directives: Option<&str>) -> Result<(), Failure> {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(directives.unwrap_or_default())?)
        .with_writer(io::stderr);
    let started = match format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => subscriber.json().try_init(),
    };
    started.map_err(|error| Failure::new(Exit::Failed, "log", error.to_string()))
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
