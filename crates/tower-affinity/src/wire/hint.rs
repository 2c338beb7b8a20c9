//! Unsigned hints: a page names the group that it comes from to the assets and calls it needs.

use http::header::{HeaderName, HeaderValue, VARY};
use http::{Method, Request, Response};
use tower_affinity_core::{GroupName, Level};

use super::cache;
use super::scope::Scope;
use crate::Affinity;

/// Where a request may name the group that serves it: [`Scope::hint`](super::Scope::hint).
///
/// The name goes on to the application as it came, which may use it against caches. Answers that
/// the group which is named did not give are kept out of caches, and those of scopes that read a
/// header are told apart by it (`Vary`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintSource {
    /// A parameter of the query, as in `/app.js?commit=9f1c2ab`. Its name is compared as it is
    /// written; in its value, `%3A` is a colon.
    Query(Box<str>),
    /// A request header.
    Header(HeaderName),
}

/// What a request says in the place where its scope reads a hint.
#[derive(Clone, Debug, Default)]
pub(super) enum Said {
    /// Nothing, or nothing is read.
    #[default]
    Nothing,
    /// Something that is no name of a group, or more than one.
    Malformed,
    /// A name, of whatever there is or is not.
    Group(GroupName),
}

impl Said {
    /// What a request says to its scope.
    pub(super) fn of<B>(scope: &Scope, request: &Request<B>) -> Self {
        match scope.hint_read(request.method()) {
            None => Self::Nothing,
            Some(HintSource::Query(name)) => {
                let pairs = request.uri().query().unwrap_or_default().split('&');
                let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
                let values = pairs.filter(|(key, _)| *key == &**name);
                Self::one(values.map(|(_, value)| value.as_bytes()))
            }
            Some(HintSource::Header(name)) => {
                let lines = request.headers().get_all(name).into_iter();
                Self::one(lines.map(HeaderValue::as_bytes))
            }
        }
    }

    /// Two hints are none, also if they agree: who made the request did not mean to send two.
    fn one<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Self {
        match (values.next(), values.next()) {
            (None, _) => Self::Nothing,
            (Some(_), Some(_)) => Self::Malformed,
            (Some(value), None) => name(value).map_or(Self::Malformed, Self::Group),
        }
    }

    pub(super) fn group(&self) -> Option<&GroupName> {
        match self {
            Self::Group(name) => Some(name),
            Self::Nothing | Self::Malformed => None,
        }
    }

    /// Keeps answers apart that caches must not mix up.
    pub(super) fn write<B>(&self, scope: &Scope, method: &Method, response: &mut Response<B>) {
        if let Some(HintSource::Header(name)) = scope.hint_read(method) {
            let name = HeaderValue::from(name.clone());
            response.headers_mut().append(VARY, name);
        }
        let served_by = response.extensions().get::<Affinity>().map(Affinity::group);
        let served = match self {
            Self::Nothing => true,
            Self::Malformed => false,
            Self::Group(name) => served_by.is_none_or(|group| group == name.as_str()),
        };
        if !served {
            cache::forbid(response.headers_mut());
        }
    }
}

/// A group's name.
fn name(value: &[u8]) -> Option<GroupName> {
    if value.len() > LONGEST {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?;
    // of what names are made of, only colons are escaped by those who build queries
    match text.contains('%') {
        true => text.replace("%3A", ":").replace("%3a", ":").parse().ok(),
        false => text.parse().ok(),
    }
}

/// The longest name, each byte of it escaped.
const LONGEST: usize = 3 * 128;

impl Scope {
    /// Where a request with this method may name a group.
    fn hint_read(&self, method: &Method) -> Option<&HintSource> {
        let follows = self.policy.level == Level::Follow;
        let reads = follows && matches!(*method, Method::GET | Method::HEAD);
        self.hint.as_ref().filter(|_| reads)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn said(source: HintSource, method: &str, target: &str, lines: &[&str]) -> String {
        let scope = Scope::new("/*".parse().unwrap());
        let scope = scope.level(Level::Follow).hint(source);
        let mut request = Request::builder().method(method).uri(target);
        for line in lines {
            request = request.header("x-commit", *line);
        }
        match Said::of(&scope, &request.body(()).unwrap()) {
            Said::Nothing => "nothing".to_owned(),
            Said::Malformed => "malformed".to_owned(),
            Said::Group(name) => name.as_str().to_owned(),
        }
    }

    fn query() -> HintSource {
        HintSource::Query("dpl".into())
    }

    #[test]
    fn one_whole_parameter_is_a_hint_and_two_are_none() {
        for (target, expected) in [
            ("/a.js?dpl=A", "A"),
            ("/a.js?v=1&dpl=9f1c2ab&x", "9f1c2ab"),
            ("/a.js?dpl=sha256%3Aab", "sha256:ab"),
            ("/a.js?dpl=sha256:ab", "sha256:ab"),
            ("/a.js", "nothing"),
            ("/a.js?xdpl=A&dplx=A&DPL=A", "nothing"),
            ("/a.js?dpl", "malformed"),
            ("/a.js?dpl=", "malformed"),
            ("/a.js?dpl=A&dpl=A", "malformed"),
            ("/a.js?dpl=A&dpl=B", "malformed"),
            ("/a.js?dpl=%41", "malformed"),
            ("/a.js?dpl=a%20b", "malformed"),
            ("/a.js?dpl=none", "malformed"),
        ] {
            assert_eq!(said(query(), "GET", target, &[]), expected, "{target}");
        }
        let long = format!("/a.js?dpl={}", "a".repeat(10_000));
        assert_eq!(said(query(), "GET", &long, &[]), "malformed");
    }

    #[test]
    fn only_a_get_or_a_head_has_a_hint() {
        assert_eq!(said(query(), "HEAD", "/?dpl=A", &[]), "A");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "GETX"] {
            let said = said(query(), method, "/?dpl=A", &[]);
            assert_eq!(said, "nothing", "{method}");
        }
    }

    #[test]
    fn one_line_of_a_header_is_a_hint_and_two_are_none() {
        for (lines, expected) in [
            (&["A"][..], "A"),
            (&[], "nothing"),
            (&["A", "A"], "malformed"),
            (&["A, B"], "malformed"),
            (&[""], "malformed"),
        ] {
            let source = HintSource::Header(HeaderName::from_static("x-commit"));
            assert_eq!(said(source, "GET", "/", lines), expected, "{lines:?}");
        }
    }
}
