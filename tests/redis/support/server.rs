//! [`RedisServer`]: a real server for one test, on loopback.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::talk::talk;

/// A `redis-server` from `PATH` that keeps nothing on disk. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct RedisServer {
    child: Option<Child>,
    address: SocketAddr,
    more: Vec<String>,
    scratch: PathBuf,
}

const PROGRAM: &str = "redis-server";

/// Far above what a start takes.
const BOUND: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(20);

impl RedisServer {
    /// Starts one and waits until it answers; `None`, with a line that says so, if there is none on
    /// this machine.
    pub(crate) async fn start(more: &[&str]) -> Option<Self> {
        if !installed() {
            let required = std::env::var_os("AFFINITY_REQUIRE_SERVICES").is_some();
            assert!(!required, "AFFINITY_REQUIRE_SERVICES: no {PROGRAM} on PATH");
            skipped();
            return None;
        }
        let mut server = Self {
            child: None,
            address: free(),
            more: more.iter().map(|&word| word.to_owned()).collect(),
            scratch: scratch(),
        };
        server.restart().await;
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it at once; what it held is gone.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // one that has ended already cannot be killed, which is as good
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Starts it on the same port, empty.
    pub(crate) async fn restart(&mut self) {
        self.stop();
        let log = self.scratch.join("log");
        let mut command = Command::new(PROGRAM);
        command
            .args(["--port", &self.address.port().to_string()])
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .arg("--dir")
            .arg(&self.scratch)
            .args(&self.more)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&log).unwrap())
            .stderr(Stdio::null());
        self.child = Some(command.spawn().expect("a server can be run"));
        let begin = Instant::now();
        while talk(self.address, &[b"PING"]).await.is_err() {
            let log = || fs::read_to_string(&log).unwrap_or_default();
            assert!(begin.elapsed() < BOUND, "not ready: {}", log());
            sleep(LOOK).await;
        }
    }

    /// Stops it in the middle of what it does: it keeps its connections, and answers nothing.
    pub(crate) fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets it go on after [`pause`](Self::pause).
    pub(crate) fn resume(&self) {
        self.signal("CONT");
    }

    /// The answer to one command as it is on the wire.
    pub(crate) async fn say(&self, words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.say_bytes(&words).await
    }

    pub(crate) async fn say_bytes(&self, words: &[&[u8]]) -> String {
        talk(self.address, words).await.expect("it answers")
    }

    /// How often each command was called since the start, by scripts as well.
    pub(crate) async fn calls(&self) -> BTreeMap<String, u64> {
        let stats = self.say(&["INFO", "commandstats"]).await;
        let lines = stats.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let calls = rest.split(',').next()?.parse().unwrap();
            Some((name.to_owned(), calls))
        });
        lines.collect()
    }

    fn signal(&self, name: &str) {
        let child = self.child.as_ref().expect("it runs");
        // the shell's own `kill`, which is everywhere
        let kill = format!("kill -{name} {}", child.id());
        let status = Command::new("sh").args(["-c", &kill]).status();
        assert!(status.expect("a signal can be sent").success(), "{kill}");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
        // a directory that is left behind harms nobody
        drop(fs::remove_dir_all(&self.scratch));
    }
}

fn installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(PROGRAM).is_file())
}

#[allow(clippy::print_stderr)] // a test that did not run has to be seen
fn skipped() {
    eprintln!("skipped: no {PROGRAM} on PATH");
}

/// A port that nobody uses now.
pub(super) fn free() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("it is bound")
}

fn scratch() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let dir = std::env::temp_dir().join(format!("affinity-redis-{process}-{number}"));
    fs::create_dir_all(&dir).expect("a directory for a server can be made");
    dir
}
