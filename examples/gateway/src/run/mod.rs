//! `gateway run`: serves until it is told to end.

mod log;
mod notify;
mod signals;
mod telemetry;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use affinity_gateway::{
    Gateway, StartError, admin::TokenError, config::Settings, control::ControlError,
    raise_file_limit, with_causes,
};
use clap::Args;
use serde_json::json;

use self::{log::LogFormat, signals::Signals, telemetry::Telemetry};
use crate::{
    exit::{Exit, Failure, conclude},
    output::say,
};

/// Serve
///
/// Prints one line on stdout when it is ready, logs to stderr (RUST_LOG filters), and follows edits
/// of the configuration. SIGTERM and Ctrl-C end it after what is in flight; a second one at once.
/// With --upgrade it takes the place of the running gateway, and no client notices.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Take over sockets and state from the gateway that runs with the same state file, which then
    /// ends; if that fails, the running one goes on
    #[arg(long)]
    upgrade: bool,
    /// The form of the log
    #[arg(long, value_enum, default_value = "text")]
    log: LogFormat,
    /// Print the line on stdout as JSON; an error as JSON on stderr
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(crate) fn run(self) -> ExitCode {
        let json = self.json;
        conclude(json, self.perform())
    }

    fn perform(self) -> Result<(), Failure> {
        let settings = Settings::load(&self.config)?;
        let telemetry = Telemetry::begin(settings.service.as_str())?;
        let directives = std::env::var("RUST_LOG").ok();
        log::start(self.log, directives.as_deref(), telemetry.layer())?;
        telemetry.announce();
        raise_file_limit();
        // clients are served by threads of their own (listen.workers); this is for all the rest
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build()?;
        let ended = runtime.block_on(self.serve(settings));
        // what a second signal left running does not hold the end up
        runtime.shutdown_background();
        telemetry.end();
        ended
    }

    async fn start(&self, settings: Settings) -> Result<Gateway, StartError> {
        match self.upgrade {
            true => Gateway::upgrade(settings).await,
            false => Gateway::start(settings).await,
        }
    }

    async fn serve(self, settings: Settings) -> Result<(), Failure> {
        let mut signals = Signals::listen()?;
        let scheme = match &settings.listen.tls {
            Some(_) => "https",
            None => "http",
        };
        let mut gateway = tokio::select! {
            started = self.start(settings) => started?,
            // it may wait for ever for the state that it shares
            signal = signals.next() => {
                tracing::info!(signal, "ended before it had a state");
                return Ok(());
            }
        };
        let revision = gateway.control().rollouts().current().revision().0;
        let address = format!("{scheme}://{}", gateway.address());
        let admin = gateway.admin();
        gateway.watch(self.config);
        say(&ready(self.json, &address, admin, revision))?;
        notify::ready();
        tokio::select! {
            signal = signals.next() => tracing::info!(
                signal,
                "ending after what is in flight; another signal ends at once"
            ),
            () = gateway.taken_over() => {}
        }
        tokio::select! {
            drained = gateway.shutdown() => tracing::info!(?drained, "ended"),
            signal = signals.next() => tracing::warn!(signal, "ended at once"),
        }
        Ok(())
    }
}

fn ready(as_json: bool, address: &str, admin: SocketAddr, revision: u64) -> String {
    let admin = format!("http://{admin}");
    if as_json {
        return json!({ "address": address, "admin": admin, "revision": revision }).to_string();
    }
    format!("ready {address} admin {admin} revision {revision}")
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let failure = Self::new(exit(&error), "start", with_causes(&error));
        match error {
            StartError::Listen { .. } => {
                failure.advice("end the program that has it, or choose another address")
            }
            _ => failure,
        }
    }
}

/// Whether the machine is at fault, or what was written.
fn exit(error: &StartError) -> Exit {
    match error {
        StartError::Listen { .. }
        | StartError::Upgrade(_)
        | StartError::Metrics(_)
        | StartError::Workers(_)
        | StartError::Control(ControlError::Store(_)) => Exit::Failed,
        StartError::Token(TokenError::Short(_)) => Exit::Usage,
        StartError::Token(_) => Exit::Failed,
        _ => Exit::Usage,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use affinity_gateway::control::StoreError;

    use super::*;

    fn told(error: StartError) -> (Exit, String) {
        let failure = Failure::from(error);
        (failure.exit, failure.problem.detail)
    }

    #[test]
    fn the_ready_line_names_both_addresses_and_the_revision() {
        let (address, admin) = ("https://127.0.0.1:8080", ([127, 0, 0, 1], 9090).into());
        assert_eq!(
            ready(false, address, admin, 42),
            "ready https://127.0.0.1:8080 admin http://127.0.0.1:9090 revision 42"
        );
        assert_eq!(
            ready(true, address, admin, 42),
            r#"{"address":"https://127.0.0.1:8080","admin":"http://127.0.0.1:9090","revision":42}"#
        );
    }

    #[test]
    fn a_taken_port_is_a_failure_that_names_its_key() {
        let taken = StartError::Listen {
            address: ([127, 0, 0, 1], 8080).into(),
            key: "listen.address",
            source: io::Error::other("in use"),
        };
        let (exit, detail) = told(taken);
        assert_eq!(exit, Exit::Failed);
        assert!(
            detail.contains("127.0.0.1:8080 (listen.address): in use"),
            "{detail}"
        );
    }

    #[test]
    fn a_damaged_state_is_a_failure_and_a_short_token_is_bad_configuration() {
        let state = ControlError::Store(StoreError::Damaged("state.json".into()));
        let (exit, detail) = told(state.into());
        assert_eq!(exit, Exit::Failed);
        assert!(detail.contains("state.json"), "{detail}");
        let (exit, detail) = told(TokenError::Short("admin.token".into()).into());
        assert_eq!(exit, Exit::Usage);
        assert!(detail.contains("admin.token"), "{detail}");
    }
}
