//! The real binary as a process of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::admin::Admin;
use crate::{BOUND, until};

/// What a run of the binary that ended left behind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// The exit code.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
}

/// Runs the binary to its end, with the variables given and no admin token besides.
///
/// # Panics
///
/// If it cannot be run, does not end in time, or ends by a signal.
pub async fn run<S: AsRef<std::ffi::OsStr>>(args: &[S], env: &[(&str, &str)]) -> Ended {
    run_within(BOUND, args, env).await
}

/// As [`run`], for what takes longer.
///
/// # Panics
///
/// If it cannot be run, does not end within `bound`, or ends by a signal.
pub async fn run_within<S: AsRef<std::ffi::OsStr>>(
    bound: Duration,
    args: &[S],
    env: &[(&str, &str)],
) -> Ended {
    let mut command = command();
    command
        .args(args)
        .envs(env.iter().copied())
        .stdin(Stdio::null());
    let output = timeout(bound, command.output())
        .await
        .expect("the binary ends in time");
    let output = output.expect("the binary can be run");
    let text = |bytes| String::from_utf8(bytes).expect("the binary prints text");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let code = output
        .status
        .code()
        .unwrap_or_else(|| panic!("ended by a signal: {stderr}"));
    Ended {
        code,
        stdout,
        stderr,
    }
}

/// A running `gateway run`. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    url: String,
    address: SocketAddr,
    admin: Admin,
    revision: u64,
    log: Log,
}

impl Process {
    /// Starts the binary with a file, and waits for its ready line.
    ///
    /// # Panics
    ///
    /// If it ends before it is ready.
    pub async fn start(file: &Path) -> Self {
        Self::start_with(file, &[]).await
    }

    /// As [`Process::start`], with more variables.
    ///
    /// # Panics
    ///
    /// If it ends before it is ready.
    pub async fn start_with(file: &Path, env: &[(&str, &str)]) -> Self {
        Self::start_as(&[], file, env).await
    }

    /// As [`Process::start_with`], with more arguments.
    ///
    /// # Panics
    ///
    /// If it ends before it is ready.
    pub async fn start_as(args: &[&str], file: &Path, env: &[(&str, &str)]) -> Self {
        Self::start_by(command(), args, file, env).await
    }

    /// As [`Process::start`], with so many files that it may open.
    ///
    /// # Panics
    ///
    /// If it ends before it is ready.
    pub async fn start_with_files(file: &Path, files: usize) -> Self {
        let mut limited = clean(Command::new("sh"));
        limited
            .args(["-c", "ulimit -n \"$0\"; exec \"$@\""])
            .arg(files.to_string())
            .arg(binary());
        Self::start_by(limited, &[], file, &[]).await
    }

    /// As [`Process::start`], with a binary that was built otherwise.
    ///
    /// # Panics
    ///
    /// If it ends before it is ready.
    pub async fn start_binary(binary: &Path, file: &Path) -> Self {
        Self::start_by(clean(Command::new(binary)), &[], file, &[]).await
    }

    async fn start_by(
        mut command: Command,
        args: &[&str],
        file: &Path,
        env: &[(&str, &str)],
    ) -> Self {
        command.envs(env.iter().copied());
        command
            .arg("run")
            .arg("--config")
            .arg(file)
            .args(args)
            .stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be run");
        let out = Log::of(child.stdout.take().expect("stdout is piped"));
        let log = Log::of(child.stderr.take().expect("stderr is piped"));
        let line = until("the ready line", async || {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                panic!("ended before it was ready ({status}): {}", log.text());
            }
            out.text()
                .lines()
                .next()
                .filter(|_| out.text().contains('\n'))
                .map(str::to_owned)
        })
        .await;
        // ready http[s]://ADDRESS admin http://ADDRESS revision N
        let words: Vec<_> = line.split(' ').collect();
        let ["ready", address, "admin", admin, "revision", revision] = words[..] else {
            panic!("no ready line: {line:?}");
        };
        let at = |url: &str| {
            let place = url.split_once("://").filter(|at| at.0.starts_with("http"));
            let address = place.and_then(|at| at.1.parse().ok());
            address.unwrap_or_else(|| panic!("no address in {line:?}"))
        };
        let token = file.with_file_name("admin.token");
        Self {
            child,
            url: address.to_owned(),
            address: at(address),
            admin: Admin::new(at(admin), &token),
            revision: revision.parse().expect("a revision is a number"),
            log,
        }
    }

    /// Where clients are served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients are served, as its ready line says.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its admin side.
    #[must_use]
    pub fn admin(&self) -> &Admin {
        &self.admin
    }

    /// The revision in its ready line.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Its number.
    ///
    /// # Panics
    ///
    /// If it is gone already.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it still runs")
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// How much time of processors it has taken so far.
    ///
    /// # Panics
    ///
    /// If it is gone already.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        // behind the name, which may hold anything: utime and stime are the 12th and 13th
        let (_, fields) = stat.rsplit_once(')').expect("a name is in brackets");
        let fields: Vec<_> = fields.split_whitespace().collect();
        let ticks = |at: usize| -> u64 { fields[at].parse().expect("ticks are a number") };
        Duration::from_millis((ticks(11) + ticks(12)) * 10)
    }

    /// How many bytes of memory it has.
    ///
    /// # Panics
    ///
    /// If it is gone already.
    #[must_use]
    pub fn memory(&self) -> usize {
        let statm = self.proc("statm");
        let pages = statm.split_whitespace().nth(1);
        let pages: usize = pages.and_then(|n| n.parse().ok()).expect("a number");
        pages * 4096
    }

    /// How many files it has open.
    ///
    /// # Panics
    ///
    /// If it is gone already.
    #[must_use]
    pub fn open_files(&self) -> usize {
        let pid = self.child.id().expect("it still runs");
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
        files.expect("its files can be seen").count()
    }

    /// Lets it have so many files open from now on; what is open beyond that stays so.
    ///
    /// # Panics
    ///
    /// If it is gone already.
    pub async fn limit_files(&self, files: usize) {
        let pid = self.child.id().expect("it still runs").to_string();
        let limit = format!("--nofile={files}:");
        let status = Command::new("prlimit")
            .args(["--pid", &pid, &limit])
            .status();
        let status = status.await.expect("a limit can be set");
        assert!(status.success(), "no process {pid}");
    }

    fn proc(&self, name: &str) -> String {
        let pid = self.child.id().expect("it still runs");
        std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect("it can be looked at")
    }

    /// Asks it to end, and does not wait for it.
    ///
    /// # Panics
    ///
    /// If it is gone already.
    pub async fn terminate(&self) {
        let pid = self.child.id().expect("it still runs").to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status().await;
        assert!(
            status.expect("a signal can be sent").success(),
            "no process {pid}"
        );
    }

    /// Kills it, as a machine that fails would.
    ///
    /// # Panics
    ///
    /// If it is gone already.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("a child can be killed");
    }

    /// Waits for its end; answers the exit code and the log.
    ///
    /// # Panics
    ///
    /// If it does not end in time, or ends by a signal.
    pub async fn end(mut self) -> (i32, String) {
        let status = timeout(BOUND, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("it goes on: {}", self.log.text()));
        let code = status.expect("a child can be waited for").code();
        // its last lines may still be on their way
        self.log.whole().await;
        (
            code.unwrap_or_else(|| panic!("ended by a signal: {}", self.log.text())),
            self.log.text(),
        )
    }
}

/// Everything that comes out of a pipe.
#[derive(Clone, Debug, Default)]
struct Log {
    text: Arc<Mutex<String>>,
    ended: Arc<watch::Sender<bool>>,
}

impl Log {
    fn of(pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let log = Self::default();
        let writer = log.clone();
        tokio::spawn(async move {
            let (mut pipe, mut line) = (BufReader::new(pipe), Vec::new());
            // bytes that are no text are a finding, and no reason to stop
            while pipe
                .read_until(b'\n', &mut line)
                .await
                .is_ok_and(|count| count > 0)
            {
                let mut text = writer.text.lock().unwrap();
                text.push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
            writer.ended.send_replace(true);
        });
        log
    }

    /// Waits until nobody can write to the pipe any more.
    async fn whole(&self) {
        let mut ended = self.ended.subscribe();
        let whole = timeout(BOUND, ended.wait_for(|ended| *ended)).await.is_ok();
        assert!(whole, "somebody holds its pipe: {}", self.text());
    }

    fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}

fn command() -> Command {
    clean(Command::new(binary()))
}

/// Without what the machine says, and killed with its owner.
fn clean(mut command: Command) -> Command {
    command
        .env_remove("AFFINITY_ADMIN_TOKEN")
        .env_remove("RUST_LOG")
        .kill_on_drop(true);
    command
}

/// The binary beside the running test, brought up to date once.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let test = std::env::current_exe().expect("a test knows where it is");
        // TARGET/PROFILE/deps/TEST
        let profile = test
            .parent()
            .and_then(Path::parent)
            .expect("tests are in a target directory");
        let target = profile
            .parent()
            .expect("a profile is in a target directory");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = std::process::Command::new(cargo);
        // together with this package, so that their common dependencies are built only once
        build.args(["build", "--quiet", "-p", "gateway", "-p", "affinity-tests"]);
        build.arg("--target-dir").arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(
            status.expect("cargo can be run").success(),
            "the binary cannot be built"
        );
        profile.join("gateway")
    })
}
