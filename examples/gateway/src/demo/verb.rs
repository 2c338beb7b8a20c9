//! The verb from its arguments to its exit code.

use std::{
    error::Error,
    io::{self, IsTerminal, Write},
    path::Path,
    pin::pin,
    process::ExitCode,
};

use affinity_gateway::with_causes;
use clap::Args;

use super::{
    acts::Pace,
    board::Affinity,
    fleet::Fleet,
    flow::{A, B},
    gateway::{Gateway, Places},
    ports,
    screen::Screen,
    show,
};

/// Any fault that ends the demo early; told with its causes.
type Fault = Box<dyn Error + Send + Sync>;

/// Plays two rollouts with simulated clients, without and with affinity, and goes on serving.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Demo {
    /// End after the last act, instead of going on serving; takes free ports
    #[arg(long)]
    pub(crate) once: bool,
    /// Print the result as one line of JSON on stdout; what is for humans goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the demo writes to.
pub(crate) struct Console<'a> {
    pub(crate) human: Box<dyn Write + 'a>,
    /// Whether `human` can be redrawn.
    pub(crate) terminal: bool,
    /// Where the JSON line goes.
    pub(crate) result: Box<dyn Write + 'a>,
}

impl Demo {
    /// Runs the demo with gateways of this kind.
    pub(crate) fn run<G: Gateway>(self) -> ExitCode {
        let places = if self.once {
            Places::free()
        } else {
            Places::loopback(8080, 9090)
        };
        let console = Console::of_process(self.json);
        let ended = match tokio::runtime::Runtime::new() {
            Ok(runtime) => runtime.block_on(self.perform::<G>(places, Pace::default(), console)),
            Err(fault) => Err(fault.into()),
        };
        match ended {
            Ok(code) => code,
            Err(fault) => {
                // If stderr is closed nobody is left to be told.
                let _ = writeln!(
                    io::stderr(),
                    "gateway demo: {}",
                    with_causes(fault.as_ref())
                );
                ExitCode::FAILURE
            }
        }
    }

    /// Plays everything; an error is also any claim that did not hold.
    pub(crate) async fn perform<G: Gateway>(
        self,
        places: Places,
        pace: Pace,
        mut console: Console<'_>,
    ) -> Result<ExitCode, Fault> {
        ports::check(places)?;
        let fleet = Fleet::start().await?;
        // Opened first, so that no port can be lost while the first run is played.
        let on = G::open(Affinity::On, &fleet, places).await?;
        let mut interrupt = pin!(tokio::signal::ctrl_c());

        let mut screen = Screen::new(&mut console.human, console.terminal);
        let report = tokio::select! {
            report = show::both(&on, &fleet, pace, &mut screen) => report?,
            signal = &mut interrupt => {
                signal?;
                // Half a script proves nothing to a caller that waits for its result.
                return Ok(if self.once { ExitCode::FAILURE } else { ExitCode::SUCCESS });
            }
        };
        for line in report.lines() {
            writeln!(console.human, "{line}")?;
        }
        if self.json {
            writeln!(console.result, "{}", report.json()?)?;
        }
        let failures = report.failures();
        if !failures.is_empty() {
            return Err(format!("the claims did not hold: {}", failures.join("; ")).into());
        }
        if !self.once {
            let invitation = invitation(on.places(), &on.token_file());
            console.human.write_all(invitation.as_bytes())?;
            console.human.flush()?;
            interrupt.await?;
        }
        on.close().await;
        Ok(ExitCode::SUCCESS)
    }
}

impl Console<'static> {
    fn of_process(json: bool) -> Self {
        let result = Box::new(io::stdout());
        if json {
            let terminal = io::stderr().is_terminal();
            Self {
                human: Box::new(io::stderr()),
                terminal,
                result,
            }
        } else {
            let terminal = io::stdout().is_terminal();
            Self {
                human: Box::new(io::stdout()),
                terminal,
                result,
            }
        }
    }
}

/// What to look at and to try while it goes on; every line can be used as it is.
fn invitation(places: Places, token_file: &Path) -> String {
    let Places { site, admin } = places;
    let program = std::env::current_exe().unwrap_or_else(|_| "gateway".into());
    let (program, token_file) = (program.display(), token_file.display());
    format!(
        "
The gateway goes on until Ctrl-C.
  the flow      http://{site}/
  the page      http://{admin}/  (changes need the token in {token_file})
  the rollout   http://{admin}/v1/rollout
  its metrics   http://{admin}/metrics
Start a session, then abort its commit; it moves back to {former}:
  curl -i -X POST http://{site}/flow/start
  {program} rollout show --admin http://{admin}
  {program} rollout abort {stable} --admin http://{admin} --token-file {token_file}
",
        stable = B.commit,
        former = A.commit,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_invitation_names_paths_that_exist_and_a_command_with_its_token() {
        let text = invitation(
            Places::loopback(8080, 9090),
            Path::new("/run/demo/admin.token"),
        );
        for line in [
            "http://127.0.0.1:8080/\n",
            "http://127.0.0.1:9090/  (changes need the token in /run/demo/admin.token)\n",
            "http://127.0.0.1:9090/v1/rollout\n",
            "http://127.0.0.1:9090/metrics\n",
            " rollout abort c3d4e5f --admin http://127.0.0.1:9090 --token-file /run/demo/admin.token\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in {text}");
        }
    }
}
