//! Overrides on the wire: the header, the cookie, and the path that sets the cookie.

use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use http::{Request, Response};
use tower_affinity_core::{Fault, Override, Timestamp};

use super::cache;
use super::shared::Wire;
use crate::carrier::cookie::Found;

/// The header that carries an override.
pub(super) const HEADER: HeaderName = HeaderName::from_static("affinity-override");

/// The path that turns an override into a cookie, for browsers.
const PATH: &str = "/.well-known/affinity/override";

/// A request for [`PATH`]: answered by the state side, which makes all answers of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// The answer sets the cookie.
    Granted,
    /// The token is none.
    Invalid,
}

/// Has the cookie of an override cleared that leads nowhere: a response extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClearOverride;

/// What the answer has to know of the override of its request.
#[derive(Clone, Debug, Default)]
pub(super) struct Grant {
    /// Whether one was shown that verifies.
    pub(super) shown: bool,
    /// Whether it came in the cookie.
    pub(super) by_cookie: bool,
    /// The cookie that a visit sets. Boxed: hardly a request has one.
    sets: Option<Box<(String, Duration)>>,
}

impl Wire {
    /// The override that counts: the first that verifies, headers before cookies.
    pub(super) fn chosen(
        &self,
        headers: &HeaderMap,
        cookies: &Found<'_>,
        at: Timestamp,
    ) -> (Option<Override>, Grant) {
        let by_header = headers.get_all(HEADER).into_iter();
        let by_header = by_header.map(|value| (Some(value.as_bytes()), false));
        let by_cookie = cookies
            .values(|name| self.is_override(name))
            .filter(|_| self.carriers.cookie)
            .map(|value| (value, true));
        for (token, by_cookie) in by_header.chain(by_cookie).take(self.codec.max_overrides()) {
            let opened = token.map_or(Err(Fault::Malformed), |token| {
                self.codec.open_override(token, at)
            });
            match opened {
                Ok(chosen) => {
                    let grant = Grant {
                        shown: true,
                        by_cookie,
                        sets: None,
                    };
                    return (Some(chosen), grant);
                }
                Err(fault) => self.recorder.override_rejected(fault),
            }
        }
        (None, Grant::default())
    }

    /// Whether the request is one for the path that sets the cookie.
    pub(super) fn visit<B>(&self, request: &Request<B>, at: Timestamp) -> Option<(Visit, Grant)> {
        if request.uri().path() != PATH {
            return None;
        }
        let query = request.uri().query().unwrap_or_default();
        let token = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="));
        let token = token.unwrap_or_default();
        let opened = self.codec.open_override(token.as_bytes(), at);
        let (visit, sets) = match opened {
            Ok(chosen) if self.carriers.cookie => {
                let left = chosen.expires.since(at);
                (Visit::Granted, Some(Box::new((token.to_owned(), left))))
            }
            Ok(_) => (Visit::Invalid, None),
            Err(fault) => {
                self.recorder.override_rejected(fault);
                (Visit::Invalid, None)
            }
        };
        let grant = Grant {
            shown: true,
            by_cookie: false,
            sets,
        };
        Some((visit, grant))
    }

    /// Writes what an override does to its answer: no cache keeps it.
    pub(super) fn write_grant<B>(&self, grant: &Grant, response: &mut Response<B>) {
        // whoever shows none has none to clear
        if !grant.shown {
            return;
        }
        let clear = response
            .extensions_mut()
            .remove::<ClearOverride>()
            .is_some();
        let headers = response.headers_mut();
        cache::forbid(headers);
        let mut set = |value: Option<HeaderValue>| {
            // a token, a checked name and fixed attributes are always visible ASCII
            if let Some(value) = value {
                headers.append(SET_COOKIE, value);
            }
        };
        let cookies = std::iter::once(&self.cookie).chain(&self.former_cookies);
        let cookies = cookies.map(|cookie| cookie.of_override(self.codec.service()));
        if let Some((token, left)) = grant.sets.as_deref() {
            cookies
                .take(1)
                .for_each(|cookie| set(cookie.build(token, *left)));
        } else if clear && grant.by_cookie {
            cookies.for_each(|cookie| set(cookie.build("", Duration::ZERO)));
        }
    }
}
