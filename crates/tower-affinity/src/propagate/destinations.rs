//! Which services a context may go to.

use std::str::FromStr;

use http::Request;
use http::header::HOST;
use http::uri::Authority;
use thiserror::Error;

/// A destination that is none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the destination {0:?} is no host or host:port")]
pub struct InvalidDestination(String);

/// The services that a context may go to.
#[derive(Clone, Debug, Default)]
pub(super) enum Destinations {
    /// Every service that the layer stands before.
    #[default]
    All,
    /// These, and no other.
    Only(Vec<Destination>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    host: String,
    /// `None`: every port.
    port: Option<u16>,
}

impl FromStr for Destination {
    type Err = InvalidDestination;

    fn from_str(text: &str) -> Result<Self, InvalidDestination> {
        let invalid = || InvalidDestination(text.to_owned());
        let authority: Authority = text.parse().map_err(|_| invalid())?;
        let (host, port) = parts(&authority).ok_or_else(invalid)?;
        if host.is_empty() || authority.as_str().contains('@') {
            return Err(invalid());
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

impl Destinations {
    /// Whether the request goes to one of them: by its target, or by `Host` where that is a path.
    pub(super) fn have<B>(&self, request: &Request<B>) -> bool {
        let Self::Only(these) = self else {
            return true;
        };
        let of_host = || {
            let host = request.headers().get(HOST)?;
            Authority::try_from(host.as_bytes()).ok()
        };
        let authority = request.uri().authority().cloned().or_else(of_host);
        let Some(authority) = authority else {
            return false;
        };
        let Some((host, port)) = parts(&authority) else {
            return false;
        };
        let port = port.or_else(|| match request.uri().scheme_str() {
            Some("https") => Some(443),
            Some("http") => Some(80),
            _ => None,
        });
        these.iter().any(|this| {
            this.host.eq_ignore_ascii_case(host) && (this.port.is_none() || this.port == port)
        })
    }
}

/// Host and port; `None` if what stands for the port is none.
fn parts(authority: &Authority) -> Option<(&str, Option<u16>)> {
    let host = authority.host();
    match authority.port() {
        Some(port) => Some((host, Some(port.as_u16()))),
        None => authority.as_str().ends_with(host).then_some((host, None)),
    }
}
