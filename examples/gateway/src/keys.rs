//! `gateway keys`: makes signing keys.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::{
    exit::{Exit, Failure, conclude},
    key,
    output::say,
};

/// Make signing keys
#[derive(Args, Debug)]
pub(crate) struct Keys {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(New),
}

/// Print 32 fresh random bytes as base64url, as an env: or file: key source holds them
#[derive(Args, Debug)]
struct New {
    /// Print {"key": …}
    #[arg(long)]
    json: bool,
}

impl Keys {
    pub(crate) fn run(self) -> ExitCode {
        let Verb::New(new) = self.verb;
        conclude(new.json, new.perform())
    }
}

impl New {
    fn perform(&self) -> Result<(), Failure> {
        let key = key::fresh().map_err(|error| {
            let detail = format!("the system's random generator does not answer: {error}");
            Failure::new(Exit::Failed, "random", detail)
        })?;
        Ok(say(&match self.json {
            true => json!({ "key": key }).to_string(),
            false => key,
        })?)
    }
}
