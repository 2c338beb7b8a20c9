//! `gateway rollout`: shows and changes the rollout of a running gateway.
//!
//! `verb` holds the arguments, `change` what they ask of the admin side, `view` what it answers,
//! `show`, `told` and `preview` how people read that, and `wait` asks until a group is drained.

mod change;
mod preview;
mod show;
mod told;
mod verb;
mod view;
mod wait;

use std::process::ExitCode;

use clap::Args;

use self::verb::Verb;
use crate::{
    admin::{Admin, Call},
    exit::{Exit, Failure, conclude},
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
        if let Verb::Wait(wait) = &self.verb {
            return Ok(say(&wait.run(&self.admin, self.json)?)?);
        }
        let change = self.verb.change()?;
        let look = Call::get("/v1/rollout");
        let call = change.as_ref().map_or(&look, |change| &change.call);
        let answer = self.admin.ask(call)?;
        let is_change = change.as_ref().is_some_and(|change| !change.is_preview);
        let text = match change {
            _ if self.json => answer.text().to_owned(),
            None => show::table(&answer.read()?),
            Some(change) if change.is_preview => preview::told(&answer.read()?),
            Some(change) => told::changed(change.group.as_ref(), &answer.read()?),
        };
        say(&text)?;
        if is_change && answer.read::<view::Held>()?.is_here_only() {
            let detail = "the change is in force on the asked replica and not kept on its disk";
            return Err(Failure::new(Exit::HereOnly, "not-kept", detail).advice(
                "a restart of it would forget the change: mend its state file's directory",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
