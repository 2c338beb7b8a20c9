//! Where the endpoints of a group are found that the file does not list.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::Sources;
use super::field::Field;
use super::group::can_be_dialled;
use super::section::Section;

/// A source of endpoints that is followed while the gateway runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Discovery {
    /// The addresses of a name.
    Dns(DnsName),
    /// A file, as an absolute path.
    File(PathBuf),
}

impl fmt::Display for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => write!(f, "dns {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

/// A name whose addresses are endpoints, and the port of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DnsName {
    /// The host name; one that ends in a dot is complete.
    pub host: String,
    /// The port of every address.
    pub port: u16,
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The one source of a `[[group]]` block besides `endpoints`.
pub(super) fn read(section: &Section<'_>, sources: &Sources<'_>) -> Option<Discovery> {
    let (dns, file) = (section.field("dns"), section.field("endpoints_file"));
    let written = [
        ("endpoints", section.field("endpoints").is_some()),
        ("dns", dns.is_some()),
        ("endpoints_file", file.is_some()),
    ];
    let mut written = written.into_iter().filter(|(_, is_written)| *is_written);
    if let (Some((first, _)), Some((second, _))) = (written.next(), written.next()) {
        section.refuse(
            second,
            format!("{first} is written too; accepted: one of endpoints, dns, endpoints_file"),
        );
        return None;
    }
    let dns = dns.and_then(|field| field.parsed(NAME, name));
    let file = file.and_then(|field| sources.field_path(&field));
    dns.map(Discovery::Dns).or(file.map(Discovery::File))
}

fn name(text: &str) -> Option<DnsName> {
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    let labels = host.strip_suffix('.').unwrap_or(host);
    let is_byte = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(is_byte) && !label.starts_with('-')
    };
    // an address is no name, nor is what looks like one
    let is_number = |label: &str| label.bytes().all(|b| b.is_ascii_digit());
    let fits = labels.len() <= 253
        && labels.split('.').all(is_label)
        && !labels.rsplit('.').next().is_some_and(is_number);
    fits.then(|| DnsName {
        host: host.to_owned(),
        port,
    })
}

/// `upstream.dns`: who is asked for names; nobody listed: those of the system.
pub(super) fn servers(section: &Section<'_>) -> Vec<SocketAddr> {
    let field = section.required("servers", SERVERS);
    let items = field.as_ref().and_then(|field| {
        let items = field.items(MOST, SERVERS)?;
        if items.is_empty() {
            field.refuse(format!("is empty; accepted: {SERVERS}"));
        }
        Some(items)
    });
    let server = |item: Field<'_>| {
        item.parsed(
            "an IP address and a port, such as \"10.0.0.53:53\"",
            |text| text.parse().ok().filter(can_be_dialled),
        )
    };
    let servers = items.unwrap_or_default().into_iter().filter_map(server);
    let servers = servers.collect();
    section.finish();
    servers
}

const NAME: &str = "a host name and a port, such as \"checkout-9f1c2ab.shop.svc:8080\"";
const SERVERS: &str = "an array of one to eight of \"IP:PORT\"";
const MOST: usize = 8;
/// Far above what a group has, and what a source may name.
pub(crate) const MAX_ENDPOINTS: usize = 10_000;
