//! What the endpoint is told about the client.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use tower_affinity::PeerAddr;

use super::{hop::Found, told::Told};
use crate::trust::{TrustedProxies, X_FORWARDED_FOR};

/// Sets `X-Forwarded-For`, `-Proto` and `-Host`.
///
/// Nobody is believed by default: the client's own values are replaced, and `Forwarded`, which
/// says the same in another way, is removed. From a trusted proxy they are kept, with the proxy
/// itself added to `X-Forwarded-For`. Without a peer address nothing can be vouched for, so they
/// are removed. Twins of the names are removed in any case: see [`is_twin`].
pub(super) fn set(
    headers: &mut HeaderMap,
    told: &Told,
    host: &HeaderValue,
    trusted: &TrustedProxies,
    found: Found,
) {
    let is_trusted = told
        .peer
        .is_some_and(|PeerAddr(peer)| trusted.contains(peer.ip()));
    let mut chain = Vec::new();
    if found.forwarded {
        let twins: Vec<HeaderName> = headers.keys().filter(|n| is_twin(n)).cloned().collect();
        for twin in twins {
            headers.remove(twin);
        }
        if is_trusted {
            for hops in headers.get_all(X_FORWARDED_FOR) {
                chain.extend_from_slice(hops.as_bytes());
                chain.extend_from_slice(b", ");
            }
        } else {
            for name in OURS.into_iter().chain([header::FORWARDED]) {
                headers.remove(name);
            }
        }
    }
    let Some(PeerAddr(peer)) = told.peer else {
        return;
    };
    let address = || Text::of(peer.ip().to_canonical()).value();
    let address = match &told.interim {
        Some(client) => client.address(address),
        None => address(),
    };
    let chain = match chain.is_empty() {
        true => address,
        false => {
            chain.extend_from_slice(address.as_bytes());
            value(&chain)
        }
    };
    headers.insert(X_FORWARDED_FOR, chain);
    let own = [
        (X_FORWARDED_PROTO, told.scheme.value()),
        (X_FORWARDED_HOST, host.clone()),
    ];
    for (name, value) in own {
        // to find a place for what may be there costs more than to insert it
        if !(found.forwarded && headers.contains_key(&name)) {
            headers.insert(name, value);
        }
    }
}

/// An address as text.
struct Text {
    bytes: [u8; LONGEST_ADDRESS],
    length: usize,
}

impl Text {
    /// Formatting costs as much as everything else that is done to the head, so the common kind of
    /// address is written by hand.
    fn of(address: IpAddr) -> Self {
        let mut text = Self {
            bytes: [0; LONGEST_ADDRESS],
            length: 0,
        };
        match address {
            IpAddr::V4(address) => {
                for (at, octet) in address.octets().into_iter().enumerate() {
                    if at > 0 {
                        text.push(b'.');
                    }
                    if octet >= 100 {
                        text.push(b'0' + octet / 100);
                    }
                    if octet >= 10 {
                        text.push(b'0' + octet / 10 % 10);
                    }
                    text.push(b'0' + octet % 10);
                }
            }
            IpAddr::V6(address) => address.to_string().bytes().for_each(|byte| text.push(byte)),
        }
        text
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn value(&self) -> HeaderValue {
        value(self.bytes.get(..self.length).unwrap_or_default())
    }
}

/// Of bytes of header values and of addresses, so there is always one.
fn value(bytes: &[u8]) -> HeaderValue {
    let unknown = const { HeaderValue::from_static("unknown") };
    HeaderValue::from_bytes(bytes).unwrap_or(unknown)
}

/// Whether a name reads like one that is set here, with another sign for a hyphen: servers that make
/// variables of fields, as CGI, WSGI and PHP do, take both for the same, and would believe either.
/// No proxy in front sends such a name itself; it is what a client of that proxy has sent.
pub(super) fn is_twin(name: &HeaderName) -> bool {
    let folded = |sign: u8| match sign.is_ascii_alphanumeric() {
        true => sign,
        false => b'-',
    };
    OURS.iter().any(|ours| {
        let (ours, name) = (ours.as_str().as_bytes(), name.as_str().as_bytes());
        ours.len() == name.len()
            && ours != name
            && ours
                .iter()
                .zip(name)
                .all(|(ours, sign)| *ours == folded(*sign))
    })
}

/// An address over IPv6, all of it written out.
const LONGEST_ADDRESS: usize = 39;
const OURS: [HeaderName; 3] = [X_FORWARDED_FOR, X_FORWARDED_PROTO, X_FORWARDED_HOST];
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic
    )]

    use super::*;
    use crate::scheme::Scheme;

    /// The scheme that an endpoint is told for a request of `peer` that says `said` itself.
    fn told(peer: &str, scheme: Scheme, said: Option<&'static str>) -> HeaderValue {
        let trusted = ["10.0.0.0/8".parse().unwrap()].into_iter().collect();
        let mut headers = HeaderMap::new();
        if let Some(said) = said {
            headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(said));
        }
        let told = Told {
            peer: Some(PeerAddr(peer.parse().unwrap())),
            scheme,
            ..Told::default()
        };
        let host = HeaderValue::from_static("a");
        let found = Found::among(&headers);
        set(&mut headers, &told, &host, &trusted, found);
        headers[X_FORWARDED_PROTO].clone()
    }

    #[test]
    fn addresses_are_written_as_everybody_writes_them() {
        for address in [
            "0.0.0.0",
            "1.10.100.255",
            "127.0.0.1",
            "9.99.199.209",
            "::1",
            "2001:db8:1234:5678:9abc:def0:1234:5678",
        ] {
            let text = Text::of(address.parse().unwrap());
            assert_eq!(text.value(), address);
        }
    }

    #[test]
    fn the_scheme_is_that_of_the_connection_unless_a_trusted_proxy_says_otherwise() {
        for (scheme, own) in [(Scheme::Http, "http"), (Scheme::Https, "https")] {
            for said in [None, Some("https"), Some("gopher")] {
                assert_eq!(
                    told("9.9.9.9:1", scheme, said),
                    own,
                    "{said:?} was believed"
                );
            }
            assert_eq!(told("10.0.0.1:1", scheme, None), own);
            for said in ["http", "https"] {
                assert_eq!(told("10.0.0.1:1", scheme, Some(said)), said);
            }
        }
    }
}
