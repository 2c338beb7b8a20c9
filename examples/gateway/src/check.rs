//! `gateway check`: validates a configuration and prints what it means.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use affinity_gateway::{
    config::{ConfigError, Settings},
    simulate::Plan,
};
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
    /// A rollout plan to be checked along with it; what is doubtful in it is told on stderr
    #[arg(long, value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// Print the settings as JSON on stdout; an error as JSON on stderr
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self) -> ExitCode {
        conclude(self.json, self.perform())
    }

    fn perform(&self) -> Result<(), Failure> {
        let settings = Settings::load(&self.config)?;
        let plan = self.plan.as_ref();
        let plan = plan.map(|plan| Plan::load(plan, &settings)).transpose()?;
        for doubt in plan.iter().flat_map(Plan::doubts) {
            writeln!(io::stderr(), "gateway: beware: {doubt}")?;
        }
        let effective = settings.effective();
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::path::Path;

    use affinity_gateway::config::parse;

    use super::*;

    fn load(weight: &str) -> Result<Settings, ConfigError> {
        let text = format!(
            "service = \"checkout\"\n[pin]\nkeys = [\"k1:env:KEY\"]\n[[group]]\nname = \"9f1c2ab\"\n\
             weight = {weight}\nendpoints = [\"127.0.0.1:7001\"]\n"
        );
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
        parse(&text, Path::new("/"), &|name| {
            (name == "KEY").then(|| key.to_owned())
        })
    }

    #[test]
    fn the_json_holds_the_effective_settings_and_no_secret() {
        let text = as_json(&load("10").unwrap().effective()).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["valid"], true);
        assert_eq!(json["settings"]["group"][0]["weight"], 10);
        assert_eq!(json["settings"]["pin"]["keys"][0], "k1:env:KEY");
        assert!(!text.contains("AAECAwQF"), "{text}");
    }

    #[test]
    fn a_mistake_is_bad_usage_with_its_place() {
        let failure = Failure::from(load("-1").unwrap_err());
        assert_eq!(failure.exit, Exit::Usage);
        let problem = serde_json::to_value(&failure.problem).unwrap();
        assert_eq!(problem["line"], 6);
        assert_eq!(problem["key"], "group[0].weight");
        assert_eq!(problem["value"], "-1");
        assert!(problem["detail"].as_str().unwrap().contains("accepted: "));
    }
}
