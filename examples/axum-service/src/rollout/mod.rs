//! [`RolloutTool`]: shows and changes the file that a [`RolloutFile`] follows.
//!
//! Such a file is the only control of a service without a gateway. `verb` holds the arguments and is
//! pure: a rollout in, the next one or a refusal out. `file` reads, locks and replaces; `show` and
//! `preview` are what people read, `failure` is how a verb ends that was not done.
//!
//! [`RolloutFile`]: tower_affinity::files::RolloutFile

mod failure;
pub(crate) mod file;
mod preview;
mod show;
#[cfg(test)]
mod tests;
mod verb;

use std::path::{Path, PathBuf};

use clap::Parser;
use tower_affinity::core::{Rollout, Timestamp};

pub use self::failure::Failure;
use self::file::Held;
use self::verb::Verb;

/// Show and change the rollout file of a service without a gateway.
///
/// The processes that follow the file see a change within a second. Exit codes: 1 it went wrong,
/// 2 the command line is wrong, 4 a rule forbids it.
#[derive(Debug, Parser)]
#[command(name = "rollout", version)]
pub struct RolloutTool {
    /// The file that the processes follow (--rollout of axum-service)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(subcommand)]
    verb: Verb,
    /// Print what would change, and change nothing
    #[arg(long, global = true)]
    preview: bool,
    /// Print the rollout as the file holds it, and errors as JSON
    #[arg(long, global = true)]
    json: bool,
}

impl RolloutTool {
    /// Does what was asked at that time; what it says to people or, with `--json`, to machines.
    ///
    /// Two changes at a time wait for each other, up to 2 seconds.
    ///
    /// # Errors
    ///
    /// If a rule forbids it, or the file cannot be used; the file is as it was then.
    pub fn run(&self, now: Timestamp) -> Result<String, Failure> {
        let path = file::resolved(&self.file);
        if let Verb::Show = self.verb {
            let rollout = file::read(&path)?;
            return Ok(self.say(&rollout, || show::table(&rollout, now)));
        }
        if self.preview {
            let (before, after) = self.next(&path, now)?;
            let told = || preview::told(before.as_ref(), &after, now);
            return Ok(self.say(&after, told));
        }
        let held = Held::take(&path)?;
        let (before, after) = self.next(&path, now)?;
        if before.as_ref() != Some(&after) {
            held.write(&after)?;
        }
        let told = || show::changed(before.as_ref(), &after, self.verb.group(), now);
        Ok(self.say(&after, told))
    }

    /// Whether a machine reads what is said.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// The rollout before, if there is one, and after the verb.
    fn next(&self, path: &Path, now: Timestamp) -> Result<(Option<Rollout>, Rollout), Failure> {
        if let Verb::Init(init) = &self.verb {
            return match path.exists() {
                true => Err(Failure::Present(path.to_owned())),
                false => Ok((None, init.rollout(now)?)),
            };
        }
        let before = file::read(path)?;
        let after = self.verb.apply(&before, now)?;
        Ok((Some(before), after))
    }

    fn say(&self, rollout: &Rollout, words: impl FnOnce() -> String) -> String {
        match self.json {
            true => rollout.to_document().to_string(),
            false => words(),
        }
    }
}
