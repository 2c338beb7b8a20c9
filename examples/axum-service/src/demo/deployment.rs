//! Three processes of two commits, started as children of this one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tower_affinity::SystemClock;
use tower_affinity::core::{
    Change, Clock, GroupName, NewGroup, Refusal, Revision, Rollout, Weight,
};

use super::BoxError;
use crate::rollout::file::replace;

/// The commit that is there at first, and the one that is rolled out.
pub(super) const OLD: &str = "9f1c2ab";
pub(super) const NEW: &str = "c3d4e5f";

/// The commits of the processes.
const PROCESSES: [&str; 3] = [OLD, OLD, NEW];

/// How long a process may take until it is ready.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How long sessions of a change can still be valid; it says when a commit's pins are over.
const MAX_AGE: Duration = Duration::from_secs(4 * 3600);

/// The processes, and the files that they follow. The processes end with it.
pub(super) struct Deployment {
    processes: Vec<Process>,
    rollout: Rollout,
    files: TempDir,
}

/// One process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) address: SocketAddr,
    pub(super) commit: &'static str,
    _child: Child,
}

impl Deployment {
    /// Starts all processes: OLD is stable, NEW is only staged.
    pub(super) async fn start() -> Result<Self, BoxError> {
        let files = tempfile::tempdir()?;
        let now = SystemClock::new().now();
        let groups = [
            NewGroup::active(OLD.parse()?, Weight::new(100)?).stable(),
            NewGroup::staged(NEW.parse()?),
        ];
        let rollout = Rollout::new(Revision(now.as_secs()), now, groups)?;
        let mut deployment = Self {
            processes: Vec::new(),
            rollout,
            files,
        };
        deployment.write_rollout()?;
        deployment.write_peers()?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        let keys = format!("demo:{}", URL_SAFE_NO_PAD.encode(secret));
        for commit in PROCESSES {
            let process = deployment.spawn(commit, &keys).await?;
            deployment.processes.push(process);
        }
        deployment.write_peers()?;
        Ok(deployment)
    }

    pub(super) fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Changes the rollout, for all processes that follow it.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&Rollout, Change) -> Result<Rollout, Refusal>,
    ) -> Result<(), BoxError> {
        let next = Change {
            revision: Revision(self.rollout.revision().0 + 1),
            now: SystemClock::new().now(),
            max_age: MAX_AGE,
        };
        self.rollout = change(&self.rollout, next)?;
        self.write_rollout()
    }

    async fn spawn(&self, commit: &'static str, keys: &str) -> Result<Process, BoxError> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "--listen",
                "127.0.0.1:0",
                "--plain-http",
                "--commit",
                commit,
            ])
            .arg("--rollout")
            .arg(self.rollout_file())
            .arg("--peers")
            .arg(self.peers_file())
            .env("AFFINITY_KEYS", keys)
            .env_remove("AFFINITY_GROUPS")
            .env("RUST_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("a process without an output")?;
        let mut said = String::new();
        let mut lines = BufReader::new(stdout);
        timeout(START_LIMIT, lines.read_line(&mut said)).await??;
        let address = said.trim().strip_prefix("ready http://");
        let address = address.ok_or_else(|| format!("process of {commit} said {said:?}"))?;
        Ok(Process {
            address: address.parse()?,
            commit,
            _child: child,
        })
    }

    fn write_rollout(&self) -> Result<(), BoxError> {
        let document = self.rollout.to_document().to_string();
        Ok(replace(&self.rollout_file(), &document)?)
    }

    fn write_peers(&self) -> Result<(), BoxError> {
        let mut lists: BTreeMap<&str, Vec<SocketAddr>> = BTreeMap::new();
        for process in &self.processes {
            lists
                .entry(process.commit)
                .or_default()
                .push(process.address);
        }
        Ok(replace(
            &self.peers_file(),
            &serde_json::to_string(&lists)?,
        )?)
    }

    fn rollout_file(&self) -> PathBuf {
        self.files.path().join("rollout.json")
    }

    fn peers_file(&self) -> PathBuf {
        self.files.path().join("peers.json")
    }
}

/// A commit's name; the two of the demo are names.
pub(super) fn name(commit: &str) -> Result<GroupName, BoxError> {
    Ok(commit.parse()?)
}
