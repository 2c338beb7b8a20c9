//! Runs the service: settings, listener, signals.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use axum_service::{Settings, app, demo, forwarding, serve};
use clap::Parser;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    tracing_subscriber::fmt()
        .with_env_filter(filter.from_env_lossy())
        .with_writer(std::io::stderr)
        .init();
    let settings = Settings::parse();
    if settings.demo {
        return match demo(settings.json).await {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                tell(&*error);
                ExitCode::from(2)
            }
        };
    }
    match run(&settings).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&*error);
            ExitCode::from(2)
        }
    }
}

async fn run(settings: &Settings) -> Result<(), Box<dyn Error>> {
    let affinity = settings.affinity(settings.keyring()?, settings.rollouts()?)?;
    let commit = settings.commit.clone();
    let app = match &settings.peers {
        Some(peers) => {
            let forwards = forwarding(affinity, peers)?;
            let forwards = match settings.by_weight {
                true => forwards.by_weight(),
                false => forwards,
            };
            app(forwards, commit)
        }
        None => app(affinity, commit),
    };
    // installed before anything is served, so that no signal meets the default action
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            // without a handler for Ctrl-C the default action ends the process anyway
            Ok(()) = tokio::signal::ctrl_c() => {}
        }
    };
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", settings.listen))?;
    writeln!(std::io::stdout(), "ready http://{}", listener.local_addr()?)?;
    serve(listener, app, stop).await;
    Ok(())
}

/// The error and everything that caused it, on stderr.
fn tell(error: &dyn Error) {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!("\n  because: {inner}"));
        cause = inner.source();
    }
    // nobody reads a stderr that is closed
    drop(writeln!(std::io::stderr(), "axum-service: {text}"));
}
