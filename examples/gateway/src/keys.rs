//! `gateway keys`: makes signing keys.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::{
    exit::{Exit, Failure, conclude},
    key::{self, Pair},
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
    /// Print a key for Ed25519 instead: `private …`, which signs, for the gateways, and `public …`, which
    /// only verifies, for services that must not sign
    #[arg(long)]
    ed25519: bool,
    /// Print {"key": …}, with --ed25519 {"private": …, "public": …}
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
        match self.ed25519 {
            true => self.pair(),
            false => self.key(),
        }
    }

    fn pair(&self) -> Result<(), Failure> {
        let Pair { private, public } = key::fresh_pair()
            .map_err(|error| Failure::new(Exit::Failed, "random", error.to_string()))?;
        Ok(say(&match self.json {
            true => json!({ "private": private, "public": public }).to_string(),
            false => format!("private {private}\npublic {public}"),
        })?)
    }

    fn key(&self) -> Result<(), Failure> {
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
