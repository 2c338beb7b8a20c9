//! `[listen]`: where the gateway is reached, and by whom it is believed.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::section::Section;
use super::span::{Bounds, in_words};
use super::tls::{self, TlsSettings};
use super::{Sources, limits};
use crate::serve::Limits;

/// Where the gateway and its admin side listen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listen {
    /// The address for clients; port 0 takes a free one.
    pub address: SocketAddr,
    /// The address of the admin side; never the same as `address` unless the port is 0.
    pub admin: SocketAddr,
    /// The file with the admin token, as an absolute path. It exists if `admin` is not loopback;
    /// else it is made if it is missing.
    pub admin_token_file: PathBuf,
    /// The peers whose `X-Forwarded-For` and PROXY header are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether `trusted_proxies` have to begin with a PROXY header; then there are some.
    pub proxy_protocol: bool,
    /// TLS for clients; `None`: they speak plain HTTP.
    pub tls: Option<TlsSettings>,
    /// How many threads serve clients, at least one.
    pub workers: usize,
    /// What clients may take.
    pub limits: Limits,
    /// How long after SIGTERM what is in flight may go on before it is cut; longer than
    /// `drain_delay`.
    pub drain: Duration,
    /// How long after SIGTERM the listener stays open.
    pub drain_delay: Duration,
}

pub(super) fn read(listen: &Section<'_>, sources: &Sources<'_>) -> Listen {
    let address = listen
        .field("address")
        .and_then(|field| field.parsed(ADDRESS, parse));
    let address = address.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080)));
    let admin_field = listen.field("admin");
    let admin = admin_field
        .as_ref()
        .and_then(|field| field.parsed(ADDRESS, parse));
    let admin = admin.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 9090)));

    if listen.is_clean() && overlap(address, admin) {
        let message = format!(
            "listen.admin ({admin}) and listen.address ({address}) are the same place; accepted: \
             two different ports, or port 0"
        );
        match listen.field("admin").or_else(|| listen.field("address")) {
            Some(field) => field.refuse(message),
            None => listen.refuse("admin", message),
        }
    }
    let token = listen.field("admin_token_file");
    let path = token.as_ref().and_then(|field| sources.field_path(field));
    if !admin.ip().to_canonical().is_loopback() {
        let accepted = "an existing file with the admin token, since listen.admin is not loopback";
        match (&token, &path) {
            (Some(field), Some(path)) => {
                let there =
                    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0);
                if !there {
                    field.refuse(format!("is not there or is empty; accepted: {accepted}"));
                }
            }
            (None, _) => listen.missing("admin_token_file", accepted),
            (Some(_), None) => {}
        }
    }
    let trusted = listen.field("trusted_proxies");
    let trusted = trusted
        .and_then(|field| field.items(MAX_PROXIES, "CIDRs"))
        .unwrap_or_default();
    let trusted_proxies: Vec<_> = trusted
        .iter()
        .filter_map(|item| item.parsed(CIDR, network))
        .collect();
    let (drain, drain_delay) = drains(listen);
    let proxy_protocol = listen
        .field("proxy_protocol")
        .and_then(|field| field.flag());
    let proxy_protocol = proxy_protocol.unwrap_or(false);
    if proxy_protocol && trusted.is_empty() {
        listen.refuse(
            "proxy_protocol",
            "would believe nobody; accepted: true with listen.trusted_proxies, or false",
        );
    }
    let tls = listen
        .field("tls")
        .and_then(|field| tls::read(&field.section(), sources));
    let workers = listen.field("workers");
    let workers = workers.and_then(|field| field.integer(&WORKERS));
    let workers = workers.and_then(|workers| usize::try_from(workers).ok());
    let limits = limits::read(listen);
    listen.finish();
    let admin_token_file = path.unwrap_or_else(|| sources.path("admin.token".as_ref()));
    Listen {
        address,
        admin,
        admin_token_file,
        trusted_proxies,
        proxy_protocol,
        tls,
        workers: workers.unwrap_or_else(cores),
        limits,
        drain,
        drain_delay,
    }
}

/// How many cores this process may use; 1 where the system does not say.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn drains(listen: &Section<'_>) -> (Duration, Duration) {
    let drain = listen.field("drain");
    let drain = drain.and_then(|field| field.duration(&DRAIN));
    let drain = drain.unwrap_or(Duration::from_secs(25));
    let field = listen.field("drain_delay");
    let delay = field.as_ref().and_then(|field| field.duration(&DELAY));
    if let (Some(field), Some(delay)) = (&field, delay)
        && delay >= drain
        && listen.is_clean()
    {
        field.refuse(format!(
            "leaves no time to finish what is in flight; accepted: less than listen.drain ({})",
            in_words(drain)
        ));
    }
    (drain, delay.unwrap_or_default())
}

fn parse(text: &str) -> Option<SocketAddr> {
    let address: SocketAddr = text.parse().ok()?;
    (!address.ip().is_multicast()).then_some(address)
}

/// Whether two listeners could not both be bound.
pub(super) fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    one.port() != 0
        && one.port() == other.port()
        && (a == b || a.is_unspecified() || b.is_unspecified())
}

fn network(text: &str) -> Option<IpNet> {
    let network: IpNet = text.parse().ok()?;
    // host bits are a slip of the hand: 10.1.2.3/8 may mean one host or sixteen million
    (network.trunc() == network).then_some(network)
}

const ADDRESS: &str = "an IP address and a port, such as \"127.0.0.1:8080\"";
const CIDR: &str = "a CIDR without host bits, such as \"10.0.0.0/8\" or \"192.0.2.7/32\"";
/// Supervisors kill after half a minute, but tunnels may deserve an hour.
const DRAIN: Bounds = Bounds::millis(100, 86_400_000);
const DELAY: Bounds = Bounds::millis(0, 3_600_000);
/// More than the largest machines have cores.
const WORKERS: RangeInclusive<u64> = 1..=1_024;
const MAX_PROXIES: usize = 1_024;
