//! The token of a pin, for services further down.

use http::header::{HeaderMap, HeaderValue};
use tower_affinity_core::{Shown, Timestamp};

use super::scope::Scope;
use super::shared::Wire;
use crate::callers::FromCaller;
use crate::carrier::{Carrier, cookie, header};

/// The tokens of a request that can go on to services further down.
#[derive(Clone, Debug)]
pub(crate) struct Carries {
    /// That of the pin that it shows.
    pub(crate) own: Option<HeaderValue>,
    /// That of the caller's pin, whose session is the key here.
    pub(crate) callers: Option<HeaderValue>,
}

impl Carries {
    /// What a peer hands on that has decided the request.
    pub(super) fn of_peer(headers: &HeaderMap) -> Self {
        Self {
            own: headers.get(header::PIN).cloned(),
            callers: None,
        }
    }
}

impl Wire {
    /// The token of the pin that counts, as it came.
    pub(super) fn own_token(
        &self,
        (headers, from_caller): (&HeaderMap, &FromCaller),
        by_query: Option<&str>,
        (shown, carrier): (&Shown, Option<Carrier>),
        terms: (Timestamp, &Scope),
    ) -> Option<HeaderValue> {
        if !matches!(shown, Shown::Pin(_)) {
            return None;
        }
        let cookies = || cookie::candidates(headers, &self.cookie_names).flatten();
        let token = match carrier {
            None => by_query.map(str::as_bytes),
            Some(Carrier::Header) => self.the_one(from_caller.others(headers), shown, terms),
            Some(Carrier::Cookie) => self.the_one(cookies(), shown, terms),
        };
        let mut token = HeaderValue::from_bytes(token?).ok()?;
        token.set_sensitive(true);
        Some(token)
    }

    /// Which of a few candidates it was. One alone needs no second look.
    fn the_one<'a>(
        &self,
        candidates: impl Iterator<Item = &'a [u8]>,
        shown: &Shown,
        (at, scope): (Timestamp, &Scope),
    ) -> Option<&'a [u8]> {
        let mut candidates = candidates.peekable();
        let first = candidates.next()?;
        if candidates.peek().is_none() {
            return Some(first);
        }
        let is_shown = |token: &&[u8]| {
            let opened = self.codec.open(token, at, scope.policy().lifetimes);
            matches!((opened, shown), (Ok(opened), Shown::Pin(pin)) if opened.pin == **pin)
        };
        std::iter::once(first).chain(candidates).find(is_shown)
    }
}
