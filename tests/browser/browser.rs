//! [`Browser`]: runs one script in Node.js, which drives Chromium.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use affinity_tests::admin::Admin;
use tokio::process::Command;
use tokio::time::timeout;

/// Far above what a script takes.
const BOUND: Duration = Duration::from_secs(300);

const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The programs that a script needs.
pub(crate) struct Browser {
    node: PathBuf,
    chromium: PathBuf,
}

impl Browser {
    /// The programs of this machine; `None`, with a line that says why, if one of them is missing.
    pub(crate) fn find() -> Option<Self> {
        let found = Self::look();
        match found {
            Ok(browser) => Some(browser),
            Err(missing) => {
                let required = std::env::var_os("AFFINITY_REQUIRE_SERVICES").is_some();
                assert!(!required, "AFFINITY_REQUIRE_SERVICES: {missing}");
                skipped(missing);
                None
            }
        }
    }

    fn look() -> Result<Self, &'static str> {
        let node = on_path("node").ok_or("no node on PATH")?;
        let mut names = CHROMIUM.into_iter();
        let chromium = names.find_map(on_path).ok_or("no chromium on PATH")?;
        match directory().join("node_modules/playwright-core").is_dir() {
            true => Ok(Self { node, chromium }),
            false => Err("run `npm ci` in tests/browser"),
        }
    }

    /// Runs a script with the address and the token of the admin side, and fails with what it says
    /// if it fails.
    pub(crate) async fn run(&self, script: &str, admin: &Admin, more: &[(&str, &str)]) {
        let mut command = Command::new(&self.node);
        command
            .arg(directory().join("script").join(script))
            // of all addresses that it may listen on, the one that is reached from here
            .env(
                "PAGE",
                format!("http://127.0.0.1:{}/", admin.address().port()),
            )
            .env("TOKEN", admin.token())
            .env("CHROMIUM", &self.chromium)
            .envs(more.iter().copied())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = timeout(BOUND, command.output()).await;
        let output = output.unwrap_or_else(|_| panic!("{script} does not end"));
        let output = output.expect("node can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, complained) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success(),
            "{script} failed\n{said}\n{complained}"
        );
    }
}

fn directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|dir| dir.join(name));
    programs.find(|program| program.is_file())
}

#[allow(clippy::print_stderr)] // a test that did not run has to be seen
fn skipped(missing: &str) {
    eprintln!("skipped: {missing}");
}
