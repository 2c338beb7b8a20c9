//! `gateway rollout`: shows and changes the rollout of a running gateway.
//!
//! `verb` holds the arguments, `change` what they ask of the admin side, `view` what it answers,
//! `show`, `told` and `preview` how people read that, and `wait` asks until a group is drained.
//! `analyze` says what is known of canaries, and waits for a verdict.
//! Of several replicas, `held` says whether all have a change, `each` what each of them answered,
//! `facts` which aborts only one has, `replicas` who they are, and `endpoint` drains one endpoint at
//! each that is named.

mod analyze;
mod change;
mod each;
mod endpoint;
mod facts;
mod held;
mod preview;
mod replicas;
mod show;
mod told;
mod verb;
mod view;
mod wait;

use std::process::ExitCode;

use clap::Args;
use serde::de::DeserializeOwned;

use self::{change::Change, each::Each, held::Held, verb::Verb};
use crate::{
    admin::{Admin, Answer, Call},
    exit::{Failure, conclude},
    output::say,
};

/// Show and change the rollout of a running gateway
#[derive(Args, Debug)]
pub(crate) struct Rollout {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    admin: Admin,
    /// Print the admin side's JSON on stdout; errors as JSON on stderr
    #[arg(long, global = true)]
    json: bool,
}

impl Rollout {
    pub(crate) fn run(self) -> ExitCode {
        conclude(self.json, self.perform())
    }

    fn perform(&self) -> Result<(), Failure> {
        let text = match (&self.verb, self.verb.change()?) {
            (_, Some(change)) => return self.change(&change),
            (Verb::Wait(wait), None) => wait.run(&self.admin, self.json)?,
            (Verb::Analyze(analyze), None) => analyze.run(&self.admin, self.json)?,
            (Verb::DrainEndpoint(drain), None) => return drain.run(&self.admin, self.json),
            (Verb::UndrainEndpoint(undrain), None) => return undrain.run(&self.admin, self.json),
            (Verb::Facts(facts), None) => self.look(&facts.call(), |view| facts.told(view))?,
            (Verb::Replicas, None) => self.look(&Call::get("/v1/replicas"), replicas::table)?,
            (Verb::ForgetReplica(gone), None) => self.look(&gone.call(), |view| gone.told(view))?,
            (_, None) => self.look(&Call::get("/v1/rollout"), show::table)?,
        };
        Ok(say(&text)?)
    }

    /// Asks, and tells what is answered.
    fn look<T: DeserializeOwned>(
        &self,
        call: &Call,
        tell: impl Fn(&T) -> String,
    ) -> Result<String, Failure> {
        self.told(&self.admin.ask(call)?, tell)
    }

    fn told<T: DeserializeOwned>(
        &self,
        answer: &Answer,
        tell: impl Fn(&T) -> String,
    ) -> Result<String, Failure> {
        match self.json {
            true => Ok(answer.text().to_owned()),
            false => Ok(tell(&answer.read()?)),
        }
    }

    fn change(&self, change: &Change) -> Result<(), Failure> {
        if change.is_preview {
            return Ok(say(&self.look(&change.call, preview::told)?)?);
        }
        let answer = self.admin.ask(&change.call)?;
        let held: Held = answer.read()?;
        let tell = |accepted: &_| told::changed(change.group.as_ref(), accepted);
        if held.is_everywhere() || !self.admin.are_many() {
            say(&self.told(&answer, tell)?)?;
            return held.conclude();
        }
        // who could not tell the others leaves that to us
        let each = Each::read(self.admin.ask_each(&change.call)?)?;
        let text = match self.json {
            true => each.to_json()?.to_string(),
            false => format!("{}\n{}", tell(&answer.read()?), each.told()),
        };
        say(&text)?;
        each.conclude()
    }
}

#[cfg(test)]
mod tests;
