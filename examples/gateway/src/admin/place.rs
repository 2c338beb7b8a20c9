//! [`Place`]: the address of an admin side.

use std::{fmt, str::FromStr};

use http::{
    Uri,
    uri::{Authority, Scheme},
};
use thiserror::Error;

/// `http://HOST[:PORT]`. Plain HTTP: an admin side listens on loopback or on an inner network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(Authority);

#[derive(Debug, Error)]
#[error("accepted: http://HOST:PORT without a path, such as http://127.0.0.1:9090")]
pub(crate) struct InvalidPlace;

impl Place {
    /// The address of something on it.
    pub(crate) fn uri(&self, path: &str) -> Result<Uri, http::Error> {
        Uri::builder()
            .scheme("http")
            .authority(self.0.clone())
            .path_and_query(path)
            .build()
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let uri: Uri = text.parse().map_err(|_| InvalidPlace)?;
        let parts = uri.into_parts();
        let bare = parts.path_and_query.is_none_or(|path| path == "/");
        match (parts.scheme, parts.authority) {
            (Some(scheme), Some(authority))
                if scheme == Scheme::HTTP && bare && is_host_and_port(&authority) =>
            {
                Ok(Self(authority))
            }
            _ => Err(InvalidPlace),
        }
    }
}

/// No name and password, and no port that is none.
fn is_host_and_port(authority: &Authority) -> bool {
    let all = authority.as_str();
    !all.contains('@') && (authority.port_u16().is_some() || all == authority.host())
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_address_with_or_without_a_slash_is_accepted() {
        for text in [
            "http://127.0.0.1:9090",
            "http://[::1]:9090/",
            "http://localhost:1",
        ] {
            let place: Place = text.parse().unwrap();
            assert_eq!(place.to_string(), text.trim_end_matches('/'));
        }
        let place: Place = "http://[::1]:9090".parse().unwrap();
        assert_eq!(
            place.uri("/v1/rollout").unwrap(),
            "http://[::1]:9090/v1/rollout"
        );
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        for text in [
            "",
            "127.0.0.1:9090",
            "https://127.0.0.1:9090",
            "http://me:secret@127.0.0.1:9090",
            "http://127.0.0.1:9090/v1",
            "http://127.0.0.1:9090/?a=b",
            "http://127.0.0.1:99999",
            "http://",
            "unix:/run/admin",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text:?} was accepted");
        }
    }
}
