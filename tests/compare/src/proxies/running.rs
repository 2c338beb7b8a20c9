//! A proxy as a process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use affinity_tests::{BOUND, Scratch};

/// The processor that proxies have for themselves; what asks them and what they ask is elsewhere.
const PROCESSOR: &str = "1";

/// A proxy that serves. Dropping it ends it.
pub(crate) struct Running {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    child: Child,
    dir: Scratch,
}

impl Running {
    /// Starts a command, and waits until it listens.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        address: SocketAddr,
        dir: Scratch,
    ) -> Self {
        let log = dir.path().join("log");
        let file = File::create(&log).expect("the directory can be written");
        command
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        let child = command.spawn().expect("taskset is there");
        let mut running = Self {
            name,
            address,
            child,
            dir,
        };
        let end = Instant::now() + BOUND;
        while TcpStream::connect(address).is_err() {
            let ended = running.child.try_wait().expect("a child can be waited for");
            let log = || fs::read_to_string(&log).unwrap_or_default();
            assert!(ended.is_none(), "{name} ended at once: {}", log());
            assert!(Instant::now() < end, "{name} does not listen: {}", log());
            thread::sleep(Duration::from_millis(20));
        }
        running
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its directory, which goes with it.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The time that the scheduler has given to its threads and those of its children.
    pub(crate) fn cpu(&self) -> Duration {
        let times = self
            .processes()
            .into_iter()
            .flat_map(|process| tasks(&process));
        let times = times.filter_map(|task| {
            let text = fs::read_to_string(format!("{task}/schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(times.sum())
    }

    /// Its resident memory and that of its children, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let sizes = self.processes().into_iter().filter_map(|process| {
            let text = fs::read_to_string(format!("{process}/status")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        sizes.sum::<u64>() * 1024
    }

    /// Its process and all that descend from it, as directories of `/proc`.
    fn processes(&self) -> Vec<String> {
        let mut found = vec![format!("/proc/{}", self.child.id())];
        let mut next = 0;
        while let Some(process) = found.get(next) {
            let children: Vec<String> = tasks(process)
                .iter()
                .filter_map(|task| fs::read_to_string(format!("{task}/children")).ok())
                .collect();
            let children = children.iter().flat_map(|line| line.split_whitespace());
            found.extend(
                children
                    .map(|child| format!("/proc/{child}"))
                    .collect::<Vec<_>>(),
            );
            next += 1;
        }
        found
    }
}

/// The threads of a process, as directories.
fn tasks(process: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("{process}/task"))
        .into_iter()
        .flatten();
    tasks
        .flatten()
        .map(|task| task.path().display().to_string())
        .collect()
}

impl Drop for Running {
    fn drop(&mut self) {
        // nginx ends its workers on SIGTERM only
        let told = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let end = Instant::now() + Duration::from_secs(5);
        while told.as_ref().is_ok_and(|status| status.success()) && Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What runs a command with so many threads; with one, on the processor that proxies have for
/// themselves.
pub(super) fn with_threads(threads: usize) -> Command {
    let mut command = command(if threads == 1 { "taskset" } else { "env" });
    if threads == 1 {
        command.args(["--cpu-list", PROCESSOR]);
    }
    // what Go heeds
    command.env("GOMAXPROCS", threads.to_string());
    command
}

/// A command that is also found where Debian has what only an administrator runs.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}

/// An address that is free now.
pub(super) fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}
