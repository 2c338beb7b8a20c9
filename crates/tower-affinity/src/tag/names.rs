//! The headers between us and an endpoint.

use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use tower_affinity_core::{Cause, Decision, Kind, SessionId};

use crate::{Affinity, Arms};

/// Names the group that is meant to the endpoint.
pub(crate) const GROUP: HeaderName = HeaderName::from_static("affinity-group");
pub(crate) const SESSION: HeaderName = HeaderName::from_static("affinity-session");
pub(crate) const DECISION: HeaderName = HeaderName::from_static("affinity-decision");
pub(crate) const MOVED_FROM: HeaderName = HeaderName::from_static("affinity-moved-from");
pub(crate) const ARMS: HeaderName = HeaderName::from_static("affinity-arms");

/// What other layers read on an answer, and remove themselves.
const READ_OUTSIDE: [&str; 3] = ["affinity-session", "affinity-outcome", "affinity-pin"];

/// Whether a header or trailer has one of our names: it begins with `affinity-`, or with another
/// sign in place of the hyphen, which servers that make variables of headers turn into the same:
/// CGI and WSGI an underscore, PHP a dot as well.
#[must_use]
pub fn is_ours(name: &HeaderName) -> bool {
    let rest = name.as_str().strip_prefix("affinity");
    rest.is_some_and(|rest| rest.starts_with(|sign: char| !sign.is_ascii_alphanumeric()))
}

/// Removes what a client sent under our names, duplicates included.
pub(crate) fn remove_spoofed(headers: &mut HeaderMap) {
    remove(headers, is_ours);
}

/// Removes what an endpoint sent under our names, but for what is read outside of here.
pub(crate) fn remove_answered(headers: &mut HeaderMap) {
    remove(headers, |name| {
        is_ours(name) && !READ_OUTSIDE.contains(&name.as_str())
    });
}

fn remove(headers: &mut HeaderMap, unwanted: impl Fn(&HeaderName) -> bool) {
    if !headers.keys().any(&unwanted) {
        return;
    }
    let found: Vec<HeaderName> = headers.keys().filter(|n| unwanted(n)).cloned().collect();
    for name in found {
        headers.remove(name);
    }
}

/// Sets our headers, once each. `last` is the group that was named before, which mostly serves again.
pub(super) fn set(headers: &mut HeaderMap, affinity: &Affinity, last: &mut HeaderValue) {
    let decision = affinity.decision();
    // names of groups and ids of ours are always visible ASCII
    if *last != *affinity.group()
        && let Ok(group) = HeaderValue::from_str(affinity.group())
    {
        *last = group;
    }
    headers.insert(GROUP, last.clone());
    let session = affinity.session().map(SessionId::symbols);
    if let Some(Ok(session)) = session.map(|text| HeaderValue::from_bytes(&text)) {
        headers.insert(SESSION, session);
    }
    headers.insert(DECISION, told(decision));
    if let Some(moved) = affinity.moved_from() {
        let (from, at, cause) = (moved.from.label(), moved.at.as_secs(), moved.cause.as_str());
        insert(
            headers,
            MOVED_FROM,
            format!("{from}; at={at}; cause={cause}"),
        );
    }
}

/// Names the arms of the session, where it has some.
pub(super) fn set_arms(headers: &mut HeaderMap, arms: &Arms) {
    let each = arms
        .iter()
        .map(|(experiment, arm)| format!("{experiment}={arm}"));
    let all: Vec<String> = each.collect();
    if !all.is_empty() {
        insert(headers, ARMS, all.join(", "));
    }
}

/// Names the decision as it turned out, where it was named before.
pub(crate) fn correct(headers: &mut HeaderMap, affinity: &Affinity) {
    if headers.contains_key(DECISION) {
        headers.insert(DECISION, told(affinity.decision()));
    }
}

/// What is told of a decision: there are few different ones, and each is made once and stays.
fn told(decision: &Decision) -> HeaderValue {
    static ALL: [OnceLock<HeaderValue>; Kind::ALL.len() * Cause::ALL.len()] =
        [const { OnceLock::new() }; Kind::ALL.len() * Cause::ALL.len()];
    let (kind, cause) = (decision.kind, decision.cause);
    let make = || {
        let text = format!("{}; cause={}", kind.as_str(), cause.as_str());
        HeaderValue::from_static(text.leak())
    };
    let place = ALL.get(kind as usize * Cause::ALL.len() + cause as usize);
    place.map_or_else(make, |told| told.get_or_init(make).clone())
}

fn insert(headers: &mut HeaderMap, name: HeaderName, text: String) {
    // names of groups and words of ours are always visible ASCII
    if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(text)) {
        headers.insert(name, value);
    }
}
