//! Shows and changes the rollout file of a service without a gateway: arguments in, text and exit code out.

use std::io::Write;
use std::process::ExitCode;

use axum_service::RolloutTool;
use clap::Parser;
use tower_affinity::SystemClock;
use tower_affinity::core::Clock;

fn main() -> ExitCode {
    let tool = RolloutTool::parse();
    match tool.run(SystemClock::new().now()) {
        // a stdout that is closed does not undo a change
        Ok(text) => {
            drop(writeln!(std::io::stdout(), "{text}"));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // nobody reads a stderr that is closed
            drop(writeln!(
                std::io::stderr(),
                "{}",
                failure.told(tool.is_json())
            ));
            ExitCode::from(failure.exit_code())
        }
    }
}
