//! Which proxies in front are believed, and who the client behind them is.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

/// The networks of the proxies whose word about the client is believed. A clone is cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Whether nobody is believed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        // A dual-stack listener shows IPv4 peers as mapped IPv6 addresses.
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client that the trusted proxies speak for: the right-most hop of `X-Forwarded-For`
    /// that is none of them, or the first one if all are. `None` if `peer` is not trusted, or if
    /// a hop on the way is no address: what stands to the left of it can be anybody's.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.contains(peer) {
            return None;
        }
        let mut farthest = None;
        let lines = headers.get_all(X_FORWARDED_FOR);
        for hop in lines
            .iter()
            .rev()
            .flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','))
        {
            let hop = address(hop)?;
            if !self.contains(hop) {
                return Some(hop);
            }
            farthest = Some(hop);
        }
        farthest
    }
}

impl FromIterator<IpNet> for TrustedProxies {
    fn from_iter<I: IntoIterator<Item = IpNet>>(networks: I) -> Self {
        Self(networks.into_iter().collect())
    }
}

/// Some proxies write the port as well.
fn address(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let address = hop
        .parse()
        .or_else(|_| hop.parse().map(|address: SocketAddr| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic
    )]

    use super::*;

    fn client(peer: &str, lines: &[&str]) -> Option<String> {
        let trusted: TrustedProxies = ["10.0.0.0/8", "fd00::/8"]
            .map(|network| network.parse().unwrap())
            .into_iter()
            .collect();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, line.parse().unwrap());
        }
        let client = trusted.client(peer.parse().unwrap(), &headers);
        client.map(|client| client.to_string())
    }

    /// SEC-31.
    #[test]
    fn only_trusted_proxies_name_the_client() {
        assert_eq!(client("9.9.9.9", &["1.2.3.4"]), None);
        assert_eq!(client("10.0.0.1", &[]), None);
        assert_eq!(client("10.0.0.1", &["1.2.3.4"]).unwrap(), "1.2.3.4");
        assert_eq!(client("::ffff:10.0.0.1", &["1.2.3.4"]).unwrap(), "1.2.3.4");
    }

    #[test]
    fn hops_left_of_the_first_stranger_are_not_believed() {
        let forged = ["5.5.5.5, 1.2.3.4:4711", "10.0.0.3, fd00::1"];
        assert_eq!(client("10.0.0.1", &forged).unwrap(), "1.2.3.4");
        assert_eq!(client("10.0.0.1", &["5.5.5.5, garbage, 10.0.0.3"]), None);
        assert_eq!(
            client("10.0.0.1", &["10.0.0.4,[fd00::2]:80"]).unwrap(),
            "10.0.0.4"
        );
        let many = format!("{}6.6.6.6", "10.0.0.9, ".repeat(10_000));
        assert_eq!(client("10.0.0.1", &[&many]).unwrap(), "6.6.6.6");
    }
}
