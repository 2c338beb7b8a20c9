//! The proxies that are compared, and how each is set up.

mod others;
mod ours;
mod running;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use affinity_tests::Scratch;
use affinity_tests::tls::Pair;

pub(crate) use self::ours::config;
pub(crate) use self::running::Running;
use crate::pods::{GROUPS, Pods};

/// A proxy as one of the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// A binary of the gateway.
    Ours(PathBuf),
    HaproxyJwt,
    HaproxyMap,
    NginxMap,
    EnvoyMap,
    Traefik,
    Caddy,
    /// hyper alone, in a process of this program.
    Bare(PathBuf),
}

/// What clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// HTTP/1.1 without TLS.
    Plain,
    /// HTTP/2 without TLS, known beforehand.
    H2c,
    /// HTTP/1.1 or HTTP/2 over TLS.
    Tls,
}

/// What all proxies are set up with.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) pods: &'a Pods,
    pub(crate) certificate: &'a Pair,
    /// How many threads each has; if it is one, on a processor that nobody else uses.
    pub(crate) threads: usize,
}

impl Proxy {
    /// All that are on this machine, the one that the others are compared with first. Says which they
    /// are, and which are missing.
    pub(crate) fn all(gateway: &Path) -> Vec<Self> {
        let all = [
            Self::HaproxyJwt,
            Self::HaproxyMap,
            Self::NginxMap,
            Self::EnvoyMap,
            Self::Traefik,
            Self::Caddy,
            Self::Bare(std::env::current_exe().expect("this program has a file")),
            Self::Ours(gateway.to_owned()),
        ];
        let here = all.into_iter().filter(|proxy| {
            let version = proxy.version();
            println!(
                "{}: {}",
                proxy.name(),
                version.as_deref().unwrap_or("missing")
            );
            version.is_some()
        });
        here.collect()
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "gateway",
            Self::HaproxyJwt => "HAProxy, signed pins (`jwt_verify`)",
            Self::HaproxyMap => "HAProxy, plain cookie",
            Self::NginxMap => "nginx, plain cookie (`map`)",
            Self::EnvoyMap => "Envoy, plain cookie",
            Self::Traefik => "Traefik, plain cookie",
            Self::Caddy => "Caddy, cookie of one endpoint",
            Self::Bare(_) => "hyper alone, plain cookie",
        }
    }

    /// Whether it is set up for more than HTTP/1.1 without TLS.
    pub(crate) fn speaks_all(&self) -> bool {
        !matches!(
            self,
            Self::EnvoyMap | Self::Traefik | Self::Caddy | Self::Bare(_)
        )
    }

    /// Whether it can have more threads than one.
    pub(crate) fn has_threads(&self) -> bool {
        !matches!(self, Self::Bare(_))
    }

    /// Starts it.
    pub(crate) fn start(&self, wire: Wire, site: Site<'_>) -> Running {
        self.start_by(&[], wire, site)
    }

    /// As [`Proxy::start`], by a command that gets its own as arguments.
    pub(crate) fn start_by(&self, by: &[&str], wire: Wire, site: Site<'_>) -> Running {
        let dir = Scratch::new();
        site.certificate.write(&dir);
        let address = running::free();
        let args = match self {
            Self::Ours(_) => ours::set_up(&dir, address, wire, site),
            Self::Bare(_) => {
                let pods = GROUPS.iter().enumerate();
                let pods = pods.flat_map(|(group, _)| site.pods.of(group));
                let addresses = [&address].into_iter().chain(pods).map(ToString::to_string);
                ["bare".to_owned()].into_iter().chain(addresses).collect()
            }
            _ => others::set_up(self, &dir, address, wire, site),
        };
        let mut command = running::with_threads(site.threads);
        command.args(by).arg(self.program()).args(args);
        Running::start(self.name(), command, address, dir)
    }

    /// What its program says of itself, if there is one.
    fn version(&self) -> Option<String> {
        let asked = match self {
            Self::Ours(_) | Self::EnvoyMap => "--version",
            Self::Traefik | Self::Caddy => "version",
            Self::Bare(_) => return Some("in this program".to_owned()),
            Self::HaproxyJwt | Self::HaproxyMap | Self::NginxMap => "-v",
        };
        let mut command = running::command(self.program());
        let output = command.arg(asked).stdin(Stdio::null()).output().ok()?;
        // nginx complains of it
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let said = said
            .lines()
            .find(|line| !line.is_empty())?
            .trim()
            .to_owned();
        output.status.success().then_some(said)
    }

    fn program(&self) -> &Path {
        match self {
            Self::Ours(binary) | Self::Bare(binary) => binary,
            Self::HaproxyJwt | Self::HaproxyMap => Path::new("haproxy"),
            Self::NginxMap => Path::new("nginx"),
            Self::EnvoyMap => Path::new("envoy"),
            Self::Traefik => Path::new("traefik"),
            Self::Caddy => Path::new("caddy"),
        }
    }
}
