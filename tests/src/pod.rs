//! Endpoints as processes, which can be killed, stopped and told how to behave.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;

use http::Method;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use crate::{BOUND, Scratch};

/// An endpoint's process. Dropping it kills it.
#[derive(Debug)]
pub struct Pod {
    group: String,
    name: String,
    address: SocketAddr,
    protocol: &'static str,
    identity: &'static str,
    ledger: PathBuf,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    orders: ChildStdin,
}

/// One line of a pod's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The pod's group.
    pub group: String,
    /// The pod.
    pub pod: String,
    /// Whether the request was executed: its body was read to the end. Else only its head came.
    pub done: bool,
    /// The request's id; `None` for one of nobody in the story.
    pub request: Option<u64>,
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: String,
    /// The group that the gateway named.
    pub wanted: Option<String>,
}

impl Pod {
    /// Starts one that speaks HTTP/1.1, and waits until it listens.
    pub async fn start(dir: &Scratch, group: &str, name: &str) -> Self {
        Self::new("http1", "plain", dir, group, name).await
    }

    /// As [`Pod::start`], at an address of its own.
    pub async fn at(address: SocketAddr, dir: &Scratch, group: &str, name: &str) -> Self {
        Self::placed(address, "http1", "plain", dir, group, name).await
    }

    /// As [`Pod::start`], for one that refuses what was meant for another group.
    pub async fn with_identity(dir: &Scratch, group: &str, name: &str) -> Self {
        Self::new("http1", "identity", dir, group, name).await
    }

    async fn new(
        protocol: &'static str,
        identity: &'static str,
        dir: &Scratch,
        group: &str,
        name: &str,
    ) -> Self {
        // not the address that connections leave from, so that none of them can take its port
        // while it is dead
        let address = SocketAddr::from(([127, 44, 0, 1], 0));
        Self::placed(address, protocol, identity, dir, group, name).await
    }

    async fn placed(
        address: SocketAddr,
        protocol: &'static str,
        identity: &'static str,
        dir: &Scratch,
        group: &str,
        name: &str,
    ) -> Self {
        let mut pod = Self {
            group: group.to_owned(),
            name: name.to_owned(),
            address,
            protocol,
            identity,
            ledger: dir.path().join(format!("{name}.ledger")),
            running: None,
        };
        pod.restart().await;
        pod
    }

    /// Starts another one, of another group, where this one was.
    ///
    /// # Panics
    ///
    /// If this one still runs.
    pub async fn replaced(&self, dir: &Scratch, group: &str, name: &str) -> Self {
        assert!(self.running.is_none(), "{} still runs", self.name);
        let mut pod = Self {
            group: group.to_owned(),
            name: name.to_owned(),
            address: self.address,
            protocol: self.protocol,
            identity: self.identity,
            ledger: dir.path().join(format!("{name}.ledger")),
            running: None,
        };
        pod.restart().await;
        pod
    }

    /// Starts it again, where it was before.
    ///
    /// # Panics
    ///
    /// If it still runs, or does not start.
    pub async fn restart(&mut self) {
        assert!(self.running.is_none(), "{} still runs", self.name);
        let mut command = Command::new(binary());
        command
            .args([&self.group, &self.name, &self.address.to_string()])
            .arg(&self.ledger)
            .args([self.protocol, self.identity])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command
            .spawn()
            .expect("affinity-pod is built with the tests");
        let out = child.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(out).lines();
        let line = timeout(BOUND, lines.next_line())
            .await
            .expect("a pod starts in time");
        let line = line.expect("a pod prints text").expect("a pod listens");
        let address = line
            .strip_prefix("listening ")
            .and_then(|at| at.parse().ok());
        self.address = address.unwrap_or_else(|| panic!("no address: {line:?}"));
        let orders = child.stdin.take().expect("stdin is piped");
        self.running = Some(Running { child, orders });
    }

    /// Its group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives it an order; see the binary.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub async fn order(&mut self, order: &str) {
        let running = self
            .running
            .as_mut()
            .unwrap_or_else(|| panic!("{} is dead", self.name));
        let line = format!("{order}\n");
        running
            .orders
            .write_all(line.as_bytes())
            .await
            .expect("a pod takes orders");
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub async fn kill(&mut self) {
        let mut running = self
            .running
            .take()
            .unwrap_or_else(|| panic!("{} is dead", self.name));
        running.child.kill().await.expect("a pod can be killed");
    }

    /// Lets it finish what is in flight and end; waits for that.
    ///
    /// # Panics
    ///
    /// If it does not run, or does not end in time.
    pub async fn end(&mut self) {
        self.order("end").await;
        let mut running = self.running.take().expect("it was given an order");
        let ended = timeout(BOUND, running.child.wait()).await;
        let status = ended
            .expect("a pod ends in time")
            .expect("a child can be waited for");
        assert!(status.success(), "{}: {status}", self.name);
    }

    /// Sends it a signal: `TERM`, `STOP` or `CONT`.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub async fn signal(&self, signal: &str) {
        let running = self
            .running
            .as_ref()
            .unwrap_or_else(|| panic!("{} is dead", self.name));
        let id = running.child.id().expect("it still runs").to_string();
        let status = Command::new("kill")
            .args([&format!("-{signal}"), &id])
            .status()
            .await;
        assert!(
            status.expect("a signal can be sent").success(),
            "no process {id}"
        );
    }

    /// What it has written so far, in this life and in earlier ones.
    ///
    /// # Panics
    ///
    /// If it is no ledger.
    #[must_use]
    pub fn ledger(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.ledger).expect("a pod makes its ledger");
        text.lines().map(|line| self.line(line)).collect()
    }

    fn line(&self, line: &str) -> Line {
        let words: Vec<_> = line.split(' ').collect();
        let [what, id, method, path, wanted] = words[..] else {
            panic!("no line of a ledger: {line:?}");
        };
        Line {
            group: self.group.clone(),
            pod: self.name.clone(),
            done: what == "done",
            request: id.parse().ok(),
            method: method.parse().expect("a method"),
            path: path.to_owned(),
            wanted: (wanted != "-").then(|| wanted.to_owned()),
        }
    }
}

/// The binary beside the running test, which cargo builds with it.
fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    // TARGET/PROFILE/deps/TEST
    let profile = test.parent().and_then(std::path::Path::parent);
    profile
        .expect("tests are in a target directory")
        .join("affinity-pod")
}
