//! `gateway check`: validates a configuration and prints what it means.

use std::{path::PathBuf, process::ExitCode};

use affinity_gateway::config::{ConfigError, Settings};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    exit::{Exit, Failure, conclude},
    output::say,
};

/// Validate a configuration and print the effective settings
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Print the settings as JSON on stdout; an error as JSON on stderr
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self) -> ExitCode {
        conclude(self.json, self.perform())
    }

    fn perform(&self) -> Result<(), Failure> {
        let effective = Settings::load(&self.config)?.effective();
        Ok(say(&match self.json {
            true => as_json(&effective)?,
            false => effective,
        })?)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let mut failure = Self::new(Exit::Usage, "configuration", error.to_string());
        let fields = [
            ("line", error.line().map(Value::from)),
            ("key", error.key_path().map(Value::from)),
            ("value", error.shown_value().map(Value::from)),
            ("message", Some(Value::from(error.message()))),
        ];
        let fields = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        failure.problem.more.extend(fields);
        failure
    }
}

fn as_json(effective: &str) -> Result<String, Failure> {
    let settings: Value = toml::from_str(effective).map_err(|error| {
        Failure::new(
            Exit::Failed,
            "settings",
            format!("the settings have no JSON form: {error}"),
        )
    })?;
    Ok(json!({ "valid": true, "settings": settings }).to_string())
}
