//! Endpoints from the addresses of a name.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{RData, RecordType};
use tokio::time::{sleep, timeout};

use super::families::{Answer, Families};
use super::list::{Found, Trouble};
use crate::config::DnsName;
use crate::control::Failure;
use crate::jitter::around;

/// For how long an answer is believed, whatever its records say.
const TTL: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(300);
/// The longest wait after a failure: what is well again is noticed soon.
const MOST_PATIENT: Duration = Duration::from_secs(5);
/// How long one question may take, with all its repetitions.
const PATIENCE: Duration = Duration::from_secs(5);
const JITTER_PERCENT: u32 = 10;

/// A name that is asked again whenever its answer has lived.
pub(super) struct Dns {
    name: DnsName,
    servers: Vec<SocketAddr>,
    resolver: Option<TokioResolver>,
    families: Families,
    failures: u32,
    rest: Duration,
}

impl Dns {
    /// Asks `servers`, or those of the system if none is given.
    pub(super) fn new(name: &DnsName, servers: &[SocketAddr]) -> Self {
        Self {
            name: name.clone(),
            servers: servers.to_vec(),
            resolver: None,
            families: Families::default(),
            failures: 0,
            rest: *TTL.start(),
        }
    }

    pub(super) async fn find(&mut self) -> Found {
        let (found, ttl) = match self.ask().await {
            Ok(answered) => answered,
            Err(trouble) => (trouble.into(), Duration::ZERO),
        };
        self.rest = if found.trouble.is_none() && !found.endpoints.is_empty() {
            self.failures = 0;
            ttl.clamp(*TTL.start(), *TTL.end())
        } else {
            // the system may have other servers by then
            self.resolver = None;
            self.failures = self.failures.saturating_add(1);
            let doubled = 2_u32.saturating_pow(self.failures - 1);
            TTL.start().saturating_mul(doubled).min(MOST_PATIENT)
        };
        found
    }

    /// Waits until it is time to ask again.
    pub(super) async fn rest(&self) {
        sleep(around(self.rest, JITTER_PERCENT)).await;
    }

    async fn ask(&mut self) -> Result<(Found, Duration), Trouble> {
        let resolver = match &self.resolver {
            Some(resolver) => resolver.clone(),
            None => {
                let made = resolver(&self.servers).map_err(|error| trouble(&error))?;
                self.resolver.insert(made).clone()
            }
        };
        // who is asked by address knows no search list
        let host = match self.servers.is_empty() || self.name.host.ends_with('.') {
            true => self.name.host.clone(),
            false => format!("{}.", self.name.host),
        };
        let (four, six) = tokio::join!(
            family(&resolver, &host, RecordType::A),
            family(&resolver, &host, RecordType::AAAA)
        );
        Ok(self.families.answered([four, six], self.name.port))
    }
}

/// The addresses of one family, and for how long they are believed.
async fn family(resolver: &TokioResolver, host: &str, kind: RecordType) -> Answer {
    match timeout(PATIENCE, resolver.lookup(host, kind)).await {
        Err(_) => Err(trouble(&NetError::Timeout)),
        // the name has none, or there is no such name
        Ok(Err(error)) if error.is_no_records_found() => Ok((Vec::new(), Duration::MAX)),
        Ok(Err(error)) => Err(trouble(&error)),
        Ok(Ok(lookup)) => {
            let records = lookup.answers();
            let addresses = records.iter().filter_map(|record| match &record.data {
                RData::A(address) => Some(IpAddr::V4(address.0)),
                RData::AAAA(address) => Some(IpAddr::V6(address.0)),
                _ => None,
            });
            let ttl = records.iter().map(|record| record.ttl).min();
            let ttl = Duration::from_secs(ttl.unwrap_or_default().into());
            Ok((addresses.collect(), ttl))
        }
    }
}

fn trouble(error: &NetError) -> Trouble {
    let failure = match error {
        NetError::Timeout => Failure::Timeout,
        _ => Failure::Error,
    };
    Trouble::new(failure, error.to_string())
}

fn resolver(servers: &[SocketAddr]) -> Result<TokioResolver, NetError> {
    let mut builder = if servers.is_empty() {
        TokioResolver::builder_tokio()?
    } else {
        let servers = servers.iter().copied().map(server).collect();
        let config = ResolverConfig::from_parts(None, Vec::new(), servers);
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        builder.options_mut().use_hosts_file = ResolveHosts::Never;
        builder
    };
    let options = builder.options_mut();
    // an answer lives here: a second memory would only make it older
    options.cache_size = 0;
    options.timeout = Duration::from_secs(1);
    options.attempts = 2;
    builder.build()
}

fn server(address: SocketAddr) -> NameServerConfig {
    let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
    for connection in &mut connections {
        connection.port = address.port();
    }
    NameServerConfig::new(address.ip(), true, connections)
}

impl std::fmt::Debug for Dns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Dns").field(&self.name).finish()
    }
}
