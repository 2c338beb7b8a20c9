//! What the endpoint is told about the client.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use tower_affinity::PeerAddr;

use crate::scheme::Scheme;
use crate::trust::{TrustedProxies, X_FORWARDED_FOR};

/// Sets `X-Forwarded-For`, `-Proto` and `-Host`.
///
/// Nobody is believed by default: the client's own values are replaced, and `Forwarded`, which
/// says the same in another way, is removed. From a trusted proxy they are kept, with the proxy
/// itself added to `X-Forwarded-For`. Without a peer address nothing can be vouched for, so they
/// are removed. Twins of the names are removed in any case: see [`is_twin`].
pub(super) fn set(
    headers: &mut HeaderMap,
    peer: Option<PeerAddr>,
    scheme: Scheme,
    host: &HeaderValue,
    trusted: &TrustedProxies,
) {
    let twins: Vec<HeaderName> = headers.keys().filter(|n| is_twin(n)).cloned().collect();
    for twin in twins {
        headers.remove(twin);
    }
    let Some(PeerAddr(peer)) = peer else {
        for name in OURS.into_iter().chain([header::FORWARDED]) {
            headers.remove(name);
        }
        return;
    };
    let mut chain = Vec::new();
    if trusted.contains(peer.ip()) {
        for hops in headers.get_all(X_FORWARDED_FOR) {
            chain.extend_from_slice(hops.as_bytes());
            chain.extend_from_slice(b", ");
        }
    } else {
        for name in [X_FORWARDED_PROTO, X_FORWARDED_HOST, header::FORWARDED] {
            headers.remove(name);
        }
    }
    chain.extend_from_slice(peer.ip().to_canonical().to_string().as_bytes());
    // Bytes of header values and an address: always a header value.
    match HeaderValue::from_maybe_shared(bytes::Bytes::from(chain)) {
        Ok(chain) => headers.insert(X_FORWARDED_FOR, chain),
        Err(_) => headers.remove(X_FORWARDED_FOR),
    };
    headers.entry(X_FORWARDED_PROTO).or_insert(scheme.value());
    headers
        .entry(X_FORWARDED_HOST)
        .or_insert_with(|| host.clone());
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

    /// The scheme that an endpoint is told for a request of `peer` that says `said` itself.
    fn told(peer: &str, scheme: Scheme, said: Option<&'static str>) -> HeaderValue {
        let trusted = ["10.0.0.0/8".parse().unwrap()].into_iter().collect();
        let mut headers = HeaderMap::new();
        if let Some(said) = said {
            headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(said));
        }
        let peer = Some(PeerAddr(peer.parse().unwrap()));
        let host = HeaderValue::from_static("a");
        set(&mut headers, peer, scheme, &host, &trusted);
        headers[X_FORWARDED_PROTO].clone()
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
