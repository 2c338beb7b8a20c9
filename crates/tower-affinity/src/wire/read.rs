//! What a request shows: its scope, its pin, what it is drawn by.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HeaderMap, HeaderName};
use http::{Method, Request};
use tower_affinity_core::{
    Absence, Chosen, Decision, DrawKey, DrawSalt, Fault, Level, OnNavigation, Presented as Shows,
    Shown, Timestamp, choose, present,
};

use super::browser::{SEC_FETCH_SITE, is_navigation, is_page_load, is_top_level};
use super::grant::{self, Grant, Visit};
use super::hint;
use super::scope::{AssignBy, Scope};
use super::sent::Sent;
use super::shared::Wire;
use super::shown::Carries;
use crate::callers::FromCaller;
use crate::carrier::cookie::{Found, Names, Rest};
use crate::carrier::{Carrier, SameSite, cookie, header, query};
use crate::record::HintOutcome;
use crate::{ClientAddr, PeerAddr};

/// Where an address is from; like the space in that of a cookie, no name of a header has it.
const ADDRESS: &str = "client address";

/// What the wire side tells the state side about a request: a request extension.
#[derive(Clone, Debug)]
pub struct Presented {
    pub(crate) shows: Shows,
    pub(crate) scope: Option<Arc<Scope>>,
    /// The request's one reading of the clock.
    pub(crate) at: Timestamp,
    /// Whether a browser shows the answer as a page; looked at only where sessions restart on one.
    pub(crate) navigation: bool,
    /// A request for our own path.
    pub(crate) visit: Option<Visit>,
    /// What a peer has decided for it.
    pub(crate) hop: Option<Box<Decision>>,
    /// The tokens that can go on to services further down; `None` in scopes that do not propagate.
    pub(crate) carries: Option<Box<Carries>>,
    /// Which headers the request has.
    pub(crate) sent: Sent,
}

impl Presented {
    /// Whether there is a pin that counts.
    pub(crate) fn shows_pin(&self) -> bool {
        matches!(self.shows.shown, Shown::Pin(_))
    }
}

/// What the answer has to know of the request.
#[derive(Clone, Debug)]
pub(super) struct Came {
    /// Which of the scopes it is in.
    pub(super) scope: Option<usize>,
    /// `None`: what came in a query goes nowhere, and who shows a pin of another service asks for none.
    pub(super) carrier: Option<Carrier>,
    pub(super) at: Timestamp,
    pub(super) method: Method,
    pub(super) grant: Grant,
    pub(super) hint: hint::Said,
}

impl Wire {
    /// Reads a request and takes out what is ours.
    pub(super) fn read<B>(&self, request: &mut Request<B>) -> (Presented, Came) {
        let at = self.clock.now();
        let path = request.uri().path();
        let nth = self
            .scopes
            .iter()
            .position(|scope| scope.path.matches(path));
        let scope = nth.and_then(|nth| self.scopes.get(nth)).cloned();
        let sent = Sent::of(request.headers());
        if sent.has(Sent::HOP)
            && let Some(decision) = self.hop(request, at)
        {
            return self.marked(request, (nth, scope), at, decision);
        }
        let by_query = self.carriers.header.then(|| query::take(request)).flatten();
        let method = request.method().clone();
        let headers = request.headers();
        let level = scope
            .as_ref()
            .map_or(Level::None, |scope| scope.policy().level);
        let cookies = match sent.has(Sent::COOKIE) {
            true => cookie::find(headers, &self.own_names),
            false => Found::default(),
        };
        let from_caller = match (&self.callers, &scope) {
            (Some(callers), Some(_)) if sent.has(Sent::PIN) => {
                callers.read(request, at, &self.salt, &self.recorder)
            }
            _ => FromCaller::default(),
        };
        let (shown, carrier) = match (level, &scope) {
            (level, Some(scope)) if reads(level) => {
                let from = (&method, headers, &from_caller);
                self.shown(from, (sent, &cookies), by_query.as_deref(), (at, scope))
            }
            _ => (Shown::Nothing(Absence::New), Some(Carrier::Cookie)),
        };
        let carries = match &scope {
            Some(scope) if scope.propagates() => {
                let from = (headers, &from_caller);
                Some(Box::new(Carries {
                    own: self.own_token(from, by_query.as_deref(), (&shown, carrier), (at, scope)),
                    callers: from_caller.session.as_ref().map(|(token, _)| token.clone()),
                }))
            }
            _ => None,
        };
        let key = scope
            .as_ref()
            .and_then(|scope| self.key(&scope.assign, request));
        // what a caller has signed is worth more than what anybody can write
        let key = from_caller.session.map_or(key, |(_, key)| Some(key));
        let restarts = scope
            .as_ref()
            .is_some_and(|scope| scope.restart().is_some());
        let has_override = sent.has(Sent::OVERRIDE) || cookies.has(|name| self.is_override(name));
        let (chosen, grant) = match has_override && reads(level) {
            true => self.chosen(headers, &cookies, at),
            false => (None, Grant::default()),
        };
        let hint = scope.as_ref().map(|scope| hint::Said::of(scope, request));
        let hint = hint.unwrap_or_default();
        if let hint::Said::Malformed = hint {
            self.recorder.hint(HintOutcome::Malformed);
        }
        let moves_on = scope
            .as_ref()
            .is_some_and(|scope| scope.policy().on_navigation == OnNavigation::Latest);
        let (visit, grant) = match self.visit(request, at) {
            Some((visit, grant)) => (Some(visit), grant),
            None => (None, grant),
        };
        let presented = Presented {
            visit,
            hop: None,
            shows: Shows {
                shown,
                key,
                chosen,
                hint: hint.group().cloned(),
                page_load: moves_on && is_page_load(&method, headers),
            },
            scope,
            at,
            navigation: restarts && is_navigation(&method, headers),
            carries,
            sent,
        };
        let rest = cookies.rest();
        self.remove_ours(rest, sent, request.headers_mut());
        (
            presented,
            Came {
                scope: nth,
                carrier,
                at,
                method,
                grant,
                hint,
            },
        )
    }

    /// Neither the application nor an endpoint sees what is between the client and us.
    pub(super) fn remove_ours(&self, cookies: Rest, sent: Sent, headers: &mut HeaderMap) {
        cookies.leave(headers);
        for (is_there, name) in [(Sent::PIN, header::PIN), (Sent::OVERRIDE, grant::HEADER)] {
            if sent.has(is_there) {
                headers.remove(name);
            }
        }
    }

    /// Whether the nth of our names of cookies is one of an override; else it is one of a pin.
    pub(super) fn is_override(&self, nth: usize) -> bool {
        nth >= self.cookie_names.count()
    }

    /// The one pin that counts and the carrier that it came in.
    fn shown(
        &self,
        (method, headers, from_caller): (&Method, &HeaderMap, &FromCaller),
        (sent, cookies): (Sent, &Found<'_>),
        by_query: Option<&str>,
        (at, scope): (Timestamp, &Scope),
    ) -> (Shown, Option<Carrier>) {
        let by_header =
            self.carriers.header && sent.has(Sent::PIN) && headers.contains_key(header::PIN);
        let by_header =
            by_header.then(|| self.choose(from_caller.others(headers).map(Some), at, scope));
        let mut fault = None;
        if !matches!(by_header, Some(Some(Ok(_))))
            && let Some(token) = by_query
        {
            match self.choose(std::iter::once(Some(token.as_bytes())), at, scope) {
                Some(Ok(pin)) => return (Shown::Pin(pin), None),
                unfit => fault = unfit,
            }
        }
        let (shown, carrier) = present(
            by_header,
            || {
                let pins = cookies.values(|name| !self.is_override(name));
                let read = self.carriers.cookie;
                let chosen = read.then(|| self.choose(pins, at, scope)).flatten();
                chosen.or(fault)
            },
            || {
                if is_preflight(method, headers) {
                    Absence::Preflight
                } else if self.may_be_withheld(method, headers) {
                    Absence::Withheld
                } else {
                    Absence::New
                }
            },
        );
        // a pin of another service asks for none of ours
        let asks = matches!(shown, Shown::Pin(_)) || !from_caller.are_all(headers);
        (shown, asks.then_some(carrier))
    }

    /// The pin of one carrier that counts; whatever is no pin is counted.
    fn choose<'a>(
        &self,
        candidates: impl Iterator<Item = Option<&'a [u8]>>,
        at: Timestamp,
        scope: &Scope,
    ) -> Chosen {
        let mut opener = self.codec.opener(at, scope.policy().lifetimes);
        let chosen = choose(candidates, |token| {
            let token = token.ok_or(Fault::Malformed);
            match token.and_then(|token| opener.open(token)) {
                Ok((pin, key)) => {
                    self.recorder.pin_verified(key);
                    Ok(pin)
                }
                // counted once, below, for all of them
                Err(Fault::Duplicates) => Err(Fault::Duplicates),
                Err(fault) => {
                    self.recorder.pin_rejected(fault);
                    Err(fault)
                }
            }
        });
        if let Some(Err(Fault::Duplicates)) = chosen {
            self.recorder.pin_rejected(Fault::Duplicates);
        }
        chosen
    }

    fn key<B>(&self, assign: &AssignBy, request: &Request<B>) -> Option<DrawKey> {
        let headers = request.headers();
        match assign {
            AssignBy::Session | AssignBy::LeastLoaded => None,
            AssignBy::Header(name) => header_key(&self.salt, headers, name),
            AssignBy::Cookie(name) => cookie_key(&self.salt, headers, name),
            AssignBy::Claim(name) => {
                let authorization = headers.get(AUTHORIZATION)?;
                self.salt.key_of_claim(name, authorization.as_bytes())
            }
            AssignBy::Address => {
                let extensions = request.extensions();
                let client = extensions.get::<ClientAddr>().map(|client| client.0);
                let client = client.or_else(|| extensions.get::<PeerAddr>().map(|p| p.0.ip()))?;
                Some(match client.to_canonical() {
                    IpAddr::V4(address) => self.salt.key_of(ADDRESS, &address.octets()),
                    IpAddr::V6(address) => {
                        let octets = address.octets();
                        // a home or a phone has all addresses below its first 56 bits
                        let bits = octets.first_chunk::<7>().map_or(&[][..], |bits| bits);
                        self.salt.key_of(ADDRESS, bits)
                    }
                })
            }
        }
    }

    /// Whether a browser may have kept our cookie back because the request is from another site.
    fn may_be_withheld(&self, method: &Method, headers: &HeaderMap) -> bool {
        let cross_site = headers
            .get(SEC_FETCH_SITE)
            .is_some_and(|site| site == "cross-site");
        if !self.carriers.cookie || !cross_site {
            return false;
        }
        match self.cookie.sent_cross_site() {
            SameSite::None => false,
            SameSite::Strict => true,
            SameSite::Lax => !(is_top_level(headers) && method.is_safe()),
        }
    }
}

/// The key that a header holds.
pub(crate) fn header_key(
    salt: &DrawSalt,
    headers: &HeaderMap,
    name: &HeaderName,
) -> Option<DrawKey> {
    let value = headers.get(name).filter(|value| !value.is_empty())?;
    Some(salt.key_of(name.as_str(), value.as_bytes()))
}

/// The key that a cookie of the application holds.
#[expect(
    clippy::borrowed_box,
    reason = "names of cookies are compared as a slice of them"
)]
pub(crate) fn cookie_key(salt: &DrawSalt, headers: &HeaderMap, name: &Box<str>) -> Option<DrawKey> {
    let names = Names::new(std::slice::from_ref(name));
    let mut values = cookie::candidates(headers, &names).flatten();
    let value = values.find(|value| !value.is_empty())?;
    Some(salt.key_of(&format!("cookie {name}"), value))
}

/// Whether requests of this level may show something that counts.
fn reads(level: Level) -> bool {
    level.has_session() || level == Level::Follow
}

fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
