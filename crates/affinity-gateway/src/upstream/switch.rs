//! Who asked how for a switch of protocols, and how it is asked of the endpoint.
//!
//! ```text
//! client                            endpoint, HTTP/1.1             endpoint, HTTP/2
//! Upgrade: X, answered 101          Upgrade: X                     extended CONNECT, a WebSocket only
//! extended CONNECT, answered 200    Upgrade with a key of ours     extended CONNECT
//! ```

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header, request::Parts};
use hyper::ext::Protocol;

use super::hop;

/// A switch of protocols that a client asks for and that we pass on.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// HTTP/1.1: this value of `Upgrade`.
    Upgrade(HeaderValue),
    /// HTTP/2: a CONNECT for a WebSocket (RFC 8441).
    Extended,
}

/// A switch that was asked of the endpoint.
#[derive(Clone, Debug)]
pub(super) struct Switch {
    asked: Asked,
    /// The value that has to come back, where the key was ours.
    accept: Option<HeaderValue>,
    http2: bool,
}

impl Asked {
    /// HTTP itself is not passed on: behind an upgrade to `h2c` the requests of the client would
    /// reach the endpoint unseen.
    pub(super) fn by(parts: &Parts) -> Option<Self> {
        if parts.method == Method::CONNECT {
            let protocol = parts.extensions.get::<Protocol>()?;
            return (protocol.as_str() == WEBSOCKET).then_some(Self::Extended);
        }
        if parts.version != Version::HTTP_11
            || !hop::has_token(&parts.headers, &header::CONNECTION, "upgrade")
        {
            return None;
        }
        let mut lines = parts.headers.get_all(header::UPGRADE).into_iter();
        let protocol = lines.next()?;
        let only = lines.next().is_none();
        let plain = hop::tokens(&parts.headers, &header::UPGRADE).all(|token| {
            let token = token.to_ascii_lowercase();
            !token.starts_with(b"h2") && !token.starts_with(b"http")
        });
        (only && plain).then(|| Self::Upgrade(protocol.clone()))
    }

    /// Puts the question into a request whose hop-by-hop fields are gone; `None` if it cannot be
    /// asked.
    pub(super) fn put(self, parts: &mut Parts, http2: bool) -> Option<Switch> {
        let headers = &mut parts.headers;
        let mut accept = None;
        match (&self, http2) {
            (Self::Upgrade(protocol), false) => set_upgrade(headers, protocol.clone()),
            (Self::Extended, false) => {
                parts.method = Method::GET;
                set_upgrade(headers, HeaderValue::from_static(WEBSOCKET));
                let key = fresh_key()?;
                accept = Some(accept_of(key.as_bytes())?);
                headers.insert(header::SEC_WEBSOCKET_KEY, key);
            }
            (Self::Upgrade(protocol), true) => {
                if !is_websocket(protocol) {
                    return None;
                }
                let key = headers.remove(header::SEC_WEBSOCKET_KEY)?;
                accept = Some(accept_of(key.as_bytes())?);
                parts.method = Method::CONNECT;
            }
            (Self::Extended, true) => {}
        }
        if http2 {
            let protocol = Protocol::from_static(WEBSOCKET);
            parts.extensions.insert(protocol);
        }
        Some(Switch {
            asked: self,
            accept,
            http2,
        })
    }
}

impl Switch {
    /// Whether a WebSocket is opened.
    pub(super) fn is_websocket(&self) -> bool {
        match &self.asked {
            Asked::Upgrade(protocol) => is_websocket(protocol),
            Asked::Extended => true,
        }
    }

    /// Whether the endpoint has switched, so that what follows is no HTTP.
    pub(super) fn is_agreed(&self, status: StatusCode, headers: &HeaderMap) -> bool {
        if self.http2 {
            return status == StatusCode::OK;
        }
        let key_is_right = match (&self.asked, &self.accept) {
            (Asked::Extended, Some(accept)) => {
                headers.get(header::SEC_WEBSOCKET_ACCEPT) == Some(accept)
            }
            _ => true,
        };
        status == StatusCode::SWITCHING_PROTOCOLS && key_is_right
    }

    /// Whether a client would take this answer, by which nothing is switched, for agreement.
    pub(super) fn would_mislead(&self, status: StatusCode) -> bool {
        matches!(self.asked, Asked::Extended) && status.is_success()
    }

    /// Makes the head of the agreement fit the client's connection.
    pub(super) fn agree(self, status: &mut StatusCode, headers: &mut HeaderMap) {
        let upgrade = headers.get(header::UPGRADE).cloned();
        hop::strip(headers);
        headers.remove(header::CONTENT_LENGTH);
        match self.asked {
            Asked::Upgrade(protocol) => {
                *status = StatusCode::SWITCHING_PROTOCOLS;
                // HTTP/2 says nothing of it
                let upgrade = upgrade.or_else(|| self.http2.then_some(protocol));
                if let Some(protocol) = upgrade {
                    headers.insert(header::UPGRADE, protocol);
                }
                headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
                if let Some(accept) = self.accept {
                    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
                }
            }
            Asked::Extended => {
                *status = StatusCode::OK;
                headers.remove(header::SEC_WEBSOCKET_ACCEPT);
            }
        }
    }
}

fn is_websocket(protocol: &HeaderValue) -> bool {
    let name = protocol.as_bytes();
    name.eq_ignore_ascii_case(WEBSOCKET.as_bytes())
}

fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::UPGRADE, protocol);
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
}

/// The key of RFC 6455, section 4.1; `None` if there is no randomness.
fn fresh_key() -> Option<HeaderValue> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    HeaderValue::try_from(STANDARD.encode(bytes)).ok()
}

/// What a server that has read the key answers (RFC 6455, section 4.2.2).
pub(super) fn accept_of(key: &[u8]) -> Option<HeaderValue> {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, GUID].concat());
    HeaderValue::try_from(STANDARD.encode(hash)).ok()
}

const WEBSOCKET: &str = "websocket";
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_accept_value_is_that_of_the_standard() {
        // RFC 6455, section 1.3
        let accept = accept_of(b"dGhlIHNhbXBsZSBub25jZQ==").unwrap();
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn keys_are_sixteen_fresh_bytes() {
        let (one, other) = (fresh_key().unwrap(), fresh_key().unwrap());
        assert_ne!(one, other);
        assert_eq!(STANDARD.decode(one.as_bytes()).unwrap().len(), 16);
    }
}
