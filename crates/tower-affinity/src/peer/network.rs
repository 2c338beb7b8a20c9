//! Networks of peers that are trusted.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;

/// A network that is none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the network {0:?} is no address, and no address/bits without bits after the first")]
pub struct InvalidNetwork(String);

/// Addresses that begin with the same bits, such as `10.0.0.0/8`; an address alone is one.
///
/// ```
/// use tower_affinity::Network;
///
/// let pods: Network = "10.0.0.0/8".parse()?;
/// assert!(pods.contains("10.1.2.3".parse()?) && pods.contains("::ffff:10.1.2.3".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether it has this address; one of IPv4 counts in the form of IPv6 as well.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let shift = 32 - u32::from(self.bits);
                let beyond = (ours.to_bits() ^ other.to_bits()).checked_shr(shift);
                beyond.unwrap_or(0) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let shift = 128 - u32::from(self.bits);
                let beyond = (ours.to_bits() ^ other.to_bits()).checked_shr(shift);
                beyond.unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let invalid = || InvalidNetwork(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => all,
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().map_err(|_| invalid())?
            }
            Some(_) => return Err(invalid()),
        };
        let rest = match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        // bits after the first are a mistake: a network that is meant otherwise
        let is_clean = rest.checked_shl(u32::from(bits)).unwrap_or(0) == 0;
        let mapped = address.to_canonical() != address;
        if bits > all || !is_clean || mapped {
            return Err(invalid());
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_begin_as_it_does() {
        for (network, address, inside) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("10.1.2.128/25", "10.1.2.129", true),
            ("10.1.2.128/25", "10.1.2.1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db9::1", true),
            ("::1", "::1", true),
        ] {
            let parsed: Network = network.parse().unwrap();
            let contains = parsed.contains(address.parse().unwrap());
            assert_eq!(contains, inside, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for bad in [
            "",
            "10",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "::1/129",
            "2001:db8::1/32",
            "a/8",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "::ffff:10.0.0.0/104",
            "10.0.0.0/-1",
            "10.0.0.0/999",
        ] {
            let error = bad.parse::<Network>().unwrap_err();
            assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
        }
    }
}
