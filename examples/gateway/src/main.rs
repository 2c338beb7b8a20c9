//! The commit affinity gateway: one verb, one module.

mod check;
mod demo;
mod key;
mod keys;
mod pin;
mod rollout;
mod run;
mod simulate;

// What the verbs share.
mod admin;
mod exit;
mod output;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::{
    check::Check,
    demo::{Demo, Live},
    keys::Keys,
    pin::Pin,
    rollout::Rollout,
    run::Run,
    simulate::Simulate,
};

/// Routes each session to the commit on which it began
#[derive(Debug, Parser)]
#[command(name = "gateway", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Demo(Demo),
    Run(Run),
    Check(Check),
    Rollout(Rollout),
    Pin(Pin),
    Keys(Keys),
    Simulate(Simulate),
}

fn main() -> ExitCode {
    match Cli::parse().verb {
        Verb::Demo(demo) => demo.run::<Live>(),
        Verb::Run(run) => run.run(),
        Verb::Check(check) => check.run(),
        Verb::Rollout(rollout) => rollout.run(),
        Verb::Pin(pin) => pin.run(),
        Verb::Keys(keys) => keys.run(),
        Verb::Simulate(simulate) => simulate.run(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_verbs_are_well_formed() {
        super::Cli::command().debug_assert();
    }
}
