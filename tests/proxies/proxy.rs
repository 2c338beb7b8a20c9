//! Proxies as processes, each for one test.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Output, Stdio};

use affinity_tests::{Scratch, until};
use tokio::net::TcpStream;

/// A proxy that this page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    Nginx,
    Haproxy,
}

/// One that runs. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    _dir: Scratch,
}

impl Proxy {
    /// The word for its configurations, which is also that of its program.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }

    /// Whether it is on this machine; a line says so if not, and where services are required that is
    /// a failure.
    pub(crate) fn is_here(self) -> bool {
        let asked = self.command(["-v"]).output();
        let here = asked.is_ok_and(|output| output.status.success());
        let required = std::env::var_os("AFFINITY_REQUIRE_SERVICES").is_some();
        assert!(
            here || !required,
            "AFFINITY_REQUIRE_SERVICES: no {}",
            self.word()
        );
        if !here {
            println!("skipped: there is no {} on this machine", self.word());
        }
        here
    }

    /// Has it check a configuration.
    pub(crate) fn check(self, text: &str) -> Output {
        let dir = Scratch::new();
        let arguments = match self {
            Self::Nginx => ["-t"],
            Self::Haproxy => ["-c"],
        };
        let mut command = self.command(arguments);
        self.configure(&mut command, text, &dir);
        command.output().expect("the proxy can be run")
    }

    /// Runs it until it listens at `front`.
    pub(crate) async fn run(self, text: &str, front: SocketAddr) -> Running {
        let dir = Scratch::new();
        let mut command = match self {
            Self::Nginx => self.command(["-g", "daemon off;"]),
            Self::Haproxy => self.command(["-db"]),
        };
        self.configure(&mut command, text, &dir);
        let log = File::create(dir.path().join("log")).expect("the directory can be written");
        command.stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("the proxy can be run");
        let running = Running { child, _dir: dir };
        until("the proxy", async || TcpStream::connect(front).await.ok()).await;
        running
    }

    fn command<'a>(self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        // where Debian has what only an administrator runs, which is not on everybody's path
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(self.word());
        command
            .env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    fn configure(self, command: &mut Command, text: &str, dir: &Scratch) {
        match self {
            Self::Nginx => {
                let file = dir.write("nginx.conf", around(text));
                command.arg("-p").arg(dir.path()).arg("-c").arg(file);
            }
            Self::Haproxy => {
                let file = dir.write("haproxy.cfg", text);
                command.arg("-f").arg(file);
            }
        }
    }
}

/// What stands around the page's part of a whole nginx.
fn around(text: &str) -> String {
    let kept = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let kept = kept.map(|name| format!("{name}_temp_path {name};"));
    format!(
        "worker_processes 1;\npid nginx.pid;\nerror_log stderr;\nevents {{ worker_connections 512; }}\n\
         http {{\naccess_log off;\n{}\n{text}}}\n",
        kept.join("\n")
    )
}

impl Drop for Running {
    fn drop(&mut self) {
        // nginx ends its workers on SIGTERM only
        let ended = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        if !ended.is_ok_and(|status| status.success()) {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

/// An address that is free now.
pub(crate) fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}
