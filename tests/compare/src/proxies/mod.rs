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
use crate::pods::Pods;

/// A proxy as one of the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// A binary of the gateway.
    Ours(PathBuf),
    HaproxyJwt,
    HaproxyMap,
    NginxMap,
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
}

impl Proxy {
    /// All that are on this machine, the one that the others are compared with first. Those that are
    /// missing are named.
    pub(crate) fn all(gateway: &Path) -> Vec<Self> {
        let all = [
            Self::HaproxyJwt,
            Self::HaproxyMap,
            Self::NginxMap,
            Self::Ours(gateway.to_owned()),
        ];
        let (here, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(Self::is_here);
        for proxy in missing {
            println!(
                "{} is missing: there is no {} here",
                proxy.name(),
                proxy.program().display()
            );
        }
        here
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "gateway",
            Self::HaproxyJwt => "HAProxy, signed pins (`jwt_verify`)",
            Self::HaproxyMap => "HAProxy, plain cookie",
            Self::NginxMap => "nginx, plain cookie (`map`)",
        }
    }

    /// Starts it, with all its threads on one processor.
    pub(crate) fn start(&self, wire: Wire, site: Site<'_>) -> Running {
        let dir = Scratch::new();
        site.certificate.write(&dir);
        let address = running::free();
        let args = match self {
            Self::Ours(_) => ours::set_up(&dir, address, wire, site),
            Self::HaproxyJwt | Self::HaproxyMap | Self::NginxMap => {
                others::set_up(self, &dir, address, wire, site)
            }
        };
        Running::start(self.name(), self.program(), &args, address, dir)
    }

    fn is_here(&self) -> bool {
        let asked = match self {
            Self::Ours(_) => "--version",
            _ => "-v",
        };
        let mut command = running::command(self.program());
        command
            .arg(asked)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn program(&self) -> &Path {
        match self {
            Self::Ours(binary) => binary,
            Self::HaproxyJwt | Self::HaproxyMap => Path::new("haproxy"),
            Self::NginxMap => Path::new("nginx"),
        }
    }
}
