//! [`EtcdServer`]: a real etcd for one test, on loopback.

#![allow(clippy::expect_used, clippy::panic)] // all of it is test code

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

/// An `etcd` from `PATH` with one member and a directory of its own. Dropping it kills it and
/// removes what it wrote.
#[derive(Debug)]
pub struct EtcdServer {
    child: Option<Child>,
    client: SocketAddr,
    peer: SocketAddr,
    scratch: Scratch,
}

impl EtcdServer {
    /// Starts one and waits until it answers; `None`, with a line that says so, if there is no
    /// `etcd` on this machine.
    ///
    /// # Panics
    ///
    /// If it does not get ready, or if there is none although `AFFINITY_REQUIRE_SERVICES` is set.
    pub async fn start() -> Option<Self> {
        if !installed() {
            let required = std::env::var_os("AFFINITY_REQUIRE_SERVICES").is_some();
            assert!(!required, "AFFINITY_REQUIRE_SERVICES: no etcd on PATH");
            skipped();
            return None;
        }
        let [client, peer] = free();
        let mut server = Self {
            child: None,
            client,
            peer,
            scratch: Scratch::new(),
        };
        server.restart().await;
        Some(server)
    }

    /// Where clients find it: `http://ADDRESS`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.client)
    }

    /// Stops it in good order, and waits for its end.
    ///
    /// # Panics
    ///
    /// If it does not run, or does not end in time.
    pub async fn stop(&mut self) {
        self.signal("TERM");
        let mut child = self.child.take().expect("it runs");
        let begin = Instant::now();
        while ended(&mut child).is_none() {
            assert!(begin.elapsed() < BOUND, "etcd does not stop");
            sleep(LOOK).await;
        }
    }

    /// Starts it on the same ports and data, after stopping it if it runs.
    ///
    /// # Panics
    ///
    /// If it does not get ready in time.
    pub async fn restart(&mut self) {
        if self.child.is_some() {
            self.stop().await;
        }
        self.child = Some(self.spawn());
        let begin = Instant::now();
        while !self.healthy().await {
            let status = self.child.as_mut().and_then(ended);
            assert!(
                status.is_none() && begin.elapsed() < BOUND,
                "etcd does not get ready ({status:?}): {}",
                self.log()
            );
            sleep(LOOK).await;
        }
    }

    /// Stops it in the middle of what it does: it keeps its connections, and answers nothing.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets it go on after [`pause`](Self::pause).
    pub fn resume(&self) {
        self.signal("CONT");
    }

    /// What it holds now, to come back to. It is restarted for that.
    ///
    /// # Panics
    ///
    /// If the data cannot be copied.
    pub async fn back_up(&mut self) -> EtcdBackup {
        self.stop().await;
        let backup = EtcdBackup(Scratch::new());
        copy(&self.data(), &backup.0.0.join(DATA));
        self.restart().await;
        backup
    }

    /// Sets it back to what it held, and restarts it.
    ///
    /// # Panics
    ///
    /// If the data cannot be copied.
    pub async fn restore(&mut self, backup: &EtcdBackup) {
        self.stop().await;
        fs::remove_dir_all(self.data()).expect("etcd's data can be removed");
        copy(&backup.0.0.join(DATA), &self.data());
        self.restart().await;
    }

    fn spawn(&self) -> Child {
        let (client, peer) = (self.endpoint(), format!("http://{}", self.peer));
        let log = fs::File::create(self.scratch.0.join(LOG)).expect("a log can be made");
        let mut command = Command::new(PROGRAM);
        command
            .arg("--data-dir")
            .arg(self.data())
            .args(["--listen-client-urls", &client])
            .args(["--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer])
            .args(["--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}")])
            // the shortest lease is one and a half elections, in whole seconds
            .args(["--heartbeat-interval", "10", "--election-timeout", "100"])
            .args(["--logger", "zap", "--log-level", "warn"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        command.spawn().expect("etcd can be run")
    }

    /// Whether it answers and has a leader.
    async fn healthy(&self) -> bool {
        let ask = async {
            let mut stream = TcpStream::connect(self.client).await?;
            stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer.contains("\"health\":\"true\""))
        };
        matches!(timeout(ANSWER, ask).await, Ok(Ok(true)))
    }

    fn signal(&self, name: &str) {
        let child = self.child.as_ref().expect("it runs");
        // the shell's own `kill`, which is everywhere
        let kill = format!("kill -{name} {}", child.id());
        let status = Command::new("sh").args(["-c", &kill]).status();
        assert!(status.expect("a signal can be sent").success(), "{kill}");
    }

    fn data(&self) -> PathBuf {
        self.scratch.0.join(DATA)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.scratch.0.join(LOG)).unwrap_or_default()
    }
}

impl Drop for EtcdServer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // one that has ended already cannot be killed, which is as good
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// What an [`EtcdServer`] held at some time.
#[derive(Debug)]
pub struct EtcdBackup(Scratch);

/// A directory of its own, gone afterwards.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(format!("affinity-etcd-{process}-{number}"));
        fs::create_dir_all(&dir).expect("a directory for etcd can be made");
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // a directory that is left behind harms nobody
        drop(fs::remove_dir_all(&self.0));
    }
}

fn installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(PROGRAM).is_file())
}

#[allow(clippy::print_stderr)] // a test that did not run has to be seen
fn skipped() {
    eprintln!("skipped: no etcd on PATH");
}

/// Two ports that nobody uses now.
fn free() -> [SocketAddr; 2] {
    [(), ()]
        .map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free"))
        .map(|listener| listener.local_addr().expect("it is bound"))
}

fn ended(child: &mut Child) -> Option<ExitStatus> {
    child.try_wait().expect("a child can be waited for")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("a directory can be read") {
        let entry = entry.expect("a directory can be read");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("a file can be copied");
        }
    }
}

const PROGRAM: &str = "etcd";
const DATA: &str = "data";
const LOG: &str = "log";

/// Far above what a start takes.
const BOUND: Duration = Duration::from_secs(60);

/// After that long an answer does not come.
const ANSWER: Duration = Duration::from_secs(2);

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(20);
