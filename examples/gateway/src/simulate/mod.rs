//! `gateway simulate`: what a rollout plan would do, without doing it.

mod table;

use std::{fs, path::PathBuf, process::ExitCode};

use affinity_gateway::{
    config::Settings,
    simulate::{Plan, PlanError, simulate, svg},
};
use clap::Args;
use serde_json::Value;

use crate::{
    exit::{Exit, Failure, conclude},
    output::say,
};

/// Play a rollout plan on synthetic sessions, without a running gateway
#[derive(Args, Debug)]
pub(crate) struct Simulate {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The file with the plan
    #[arg(long, value_name = "PLAN")]
    plan: PathBuf,
    /// The same seed gives the same sessions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the load of each group over time to a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the report as JSON on stdout; an error as JSON on stderr
    #[arg(long)]
    json: bool,
}

impl Simulate {
    pub(crate) fn run(self) -> ExitCode {
        conclude(self.json, self.perform())
    }

    fn perform(&self) -> Result<(), Failure> {
        let settings = Settings::load(&self.config)?;
        let plan = Plan::load(&self.plan, &settings)?;
        let report = simulate(&settings, &plan, self.seed)?;
        if let Some(file) = &self.svg {
            fs::write(file, svg(&report)).map_err(|error| {
                let detail = format!("{} cannot be written: {error}", file.display());
                Failure::new(Exit::Failed, "svg", detail)
            })?;
        }
        Ok(say(&match self.json {
            true => serde_json::to_string(&report).map_err(|error| {
                let detail = format!("the report has no JSON form: {error}");
                Failure::new(Exit::Failed, "report", detail)
            })?,
            false => table::of(&report),
        })?)
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let detail = error.to_string();
        let (exit, kind, step) = match error {
            PlanError::Invalid(error) => return error.into(),
            PlanError::Refused { step, .. } => (Exit::Refused, "refused", Some(step)),
            PlanError::NothingDrains { step } => (Exit::Usage, "plan", Some(step)),
            // a kind of a later release
            _ => (Exit::Usage, "plan", None),
        };
        let mut failure = Self::new(exit, kind, detail);
        let step = step.map(|step| ("step".to_owned(), Value::from(step)));
        failure.problem.more.extend(step);
        failure
    }
}
