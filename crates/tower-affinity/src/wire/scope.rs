//! Scopes: which requests are bound, and how.

use std::str::FromStr;

use http::HeaderName;
use thiserror::Error;
use tower_affinity_core::{Level, Lifetimes, OnGone, OnNavigation, OnStep, Policy};

use super::hint::HintSource;

/// A set of paths and what affinity means for their requests. The first scope that matches counts.
///
/// Paths are those that the layer sees: inside of axum's `Router::nest` they are without the prefix
/// of the nest. A layer around the nesting router sees what the client asked for.
///
/// For browsers with pages of two commits: assets name the commit that they belong to, and a page
/// load leaves one that drains.
///
/// ```
/// use tower_affinity::core::{Level, OnNavigation};
/// use tower_affinity::wire::{HintSource, PathPattern, Scope};
///
/// # fn scopes() -> Result<[Scope; 2], tower_affinity::wire::InvalidPath> {
/// let assets = Scope::new("/static/*".parse()?)
///     .level(Level::Follow)
///     .hint(HintSource::Query("commit".into()));
/// let pages = Scope::new(PathPattern::all()).on_navigation(OnNavigation::Latest);
/// # Ok([assets, pages]) }
/// ```
#[derive(Clone, Debug)]
pub struct Scope {
    pub(super) path: PathPattern,
    pub(super) assign: AssignBy,
    pub(super) cache: CachePolicy,
    pub(super) policy: Policy,
    streaming: bool,
    propagate: bool,
    restart_url: Option<String>,
    pub(super) hint: Option<HintSource>,
}

impl Scope {
    /// A scope for the paths of `path`, with level [`Level::Group`] and all defaults.
    #[must_use]
    pub fn new(path: PathPattern) -> Self {
        Self {
            path,
            assign: AssignBy::Session,
            cache: CachePolicy::Private,
            policy: Policy::default(),
            streaming: false,
            propagate: false,
            restart_url: None,
            hint: None,
        }
    }

    /// How strongly requests are bound; by default [`Level::Group`].
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.policy.level = level;
        self
    }

    /// What happens to a session whose group is gone; by default it is moved.
    #[must_use]
    pub fn on_gone(mut self, on_gone: OnGone) -> Self {
        self.policy.on_gone = on_gone;
        self
    }

    /// What a changed weight means for sessions; by default nothing.
    #[must_use]
    pub fn on_step(mut self, on_step: OnStep) -> Self {
        self.policy.on_step = on_step;
        self
    }

    /// What a full page load means for the session of a group that drains; by default nothing. Only
    /// for levels with sessions.
    ///
    /// A page load is a GET or HEAD with `Sec-Fetch-Mode: navigate` and `Sec-Fetch-Dest: document`
    /// that is no prefetch. Browsers that do not say so move nobody.
    #[must_use]
    pub fn on_navigation(mut self, on_navigation: OnNavigation) -> Self {
        self.policy.on_navigation = on_navigation;
        self
    }

    /// Where a GET or HEAD may name the group that serves it; by default nowhere. Only for level
    /// [`Level::Follow`].
    ///
    /// A hint is not signed: it reaches groups that serve sessions of anybody, and opens, moves and
    /// pins nothing. See [`HintSource`].
    #[must_use]
    pub fn hint(self, hint: HintSource) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }

    /// What a new session is drawn by; by default its own fresh id. The session of a
    /// [caller](crate::Callers) goes before it.
    #[must_use]
    pub fn assign(mut self, assign: AssignBy) -> Self {
        self.policy.least_loaded = assign == AssignBy::LeastLoaded;
        Self { assign, ..self }
    }

    /// What happens to answers that a shared cache may store; by default they become private.
    #[must_use]
    pub fn cache(self, cache: CachePolicy) -> Self {
        Self { cache, ..self }
    }

    /// Whether every answer counts as a stream, whose session is in use for as long as it is open;
    /// by default only event streams and upgrades do.
    #[must_use]
    pub fn streaming(self, streaming: bool) -> Self {
        Self { streaming, ..self }
    }

    /// Whether a session goes on to services further down: its requests carry a
    /// [`Propagation`](crate::Propagation), and the endpoint gets the pin that the answer will carry
    /// in `affinity-pin`. By default neither happens. Never at level [`Level::Endpoint`], whose pins
    /// are known only once an endpoint has answered; and at levels that issue no pins, none goes on.
    #[must_use]
    pub fn propagate(self, propagate: bool) -> Self {
        Self { propagate, ..self }
    }

    /// Where a navigation is sent whose session we ended; by default it gets the error.
    #[must_use]
    pub fn restart_url(self, url: impl Into<String>) -> Self {
        Self {
            restart_url: Some(url.into()),
            ..self
        }
    }

    /// Its paths.
    #[must_use]
    pub fn path(&self) -> &PathPattern {
        &self.path
    }

    pub(super) fn lifetimes(&mut self, lifetimes: Lifetimes) {
        self.policy.lifetimes = lifetimes;
    }

    /// What the rule is asked with.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Why a setting of it could never take effect, if one could not.
    pub(crate) fn without_effect(&self) -> Option<&'static str> {
        let level = self.policy.level;
        if self.hint.is_some() && level != Level::Follow {
            return Some("a hint is read at level follow only");
        }
        let moves_on = self.policy.on_navigation == OnNavigation::Latest;
        (moves_on && !level.has_session()).then_some("a page load moves a session, and it has none")
    }

    pub(crate) fn is_streaming(&self) -> bool {
        self.streaming
    }

    pub(crate) fn propagates(&self) -> bool {
        self.propagate
    }

    /// Whether its pins would have to be handed on before they are known.
    pub(crate) fn propagates_endpoints(&self) -> bool {
        self.propagate && self.policy.level == Level::Endpoint
    }

    pub(crate) fn restart(&self) -> Option<&str> {
        self.restart_url.as_deref()
    }
}

/// Paths: one exactly, or all below a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    prefix: String,
    below: bool,
}

/// A path pattern that is none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("a path is absolute and exact, or ends in /* for everything below it")]
pub struct InvalidPath;

impl PathPattern {
    /// Every path.
    #[must_use]
    pub fn all() -> Self {
        Self {
            prefix: String::new(),
            below: true,
        }
    }

    /// Whether `path` is one of these: `/a/*` has everything below `/a/`, not `/a` itself.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        match path.strip_prefix(self.prefix.as_str()) {
            Some("") => !self.below,
            Some(rest) => self.below && rest.starts_with('/'),
            None => false,
        }
    }

    /// Whether every path of `other` is one of these.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        if !other.below {
            return self.matches(&other.prefix);
        }
        let inside = other.prefix.strip_prefix(self.prefix.as_str());
        self.below && inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl std::fmt::Display for PathPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.prefix, if self.below { "/*" } else { "" })
    }
}

impl FromStr for PathPattern {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        let valid = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'*' | b'?' | b'#'))
        };
        match text.strip_suffix("/*") {
            Some(prefix) if (prefix.is_empty() || prefix.starts_with('/')) && valid(prefix) => {
                Ok(Self {
                    prefix: prefix.to_owned(),
                    below: true,
                })
            }
            None if text.starts_with('/') && valid(text) => Ok(Self {
                prefix: text.to_owned(),
                below: false,
            }),
            _ => Err(InvalidPath),
        }
    }
}

/// What a new session is drawn by. A key from the client is a preference and no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AssignBy {
    /// Its own fresh id.
    #[default]
    Session,
    /// The value of a request header, so that parallel first requests agree.
    Header(HeaderName),
    /// The value of a cookie of the application.
    Cookie(Box<str>),
    /// A claim of the JWT in `Authorization: Bearer`, for example a user's id in `sub`: a text or a
    /// whole number of its payload. The token is **not verified**, since a key is a preference and
    /// no secret; one that is malformed or too long
    /// ([`MAX_BEARER`](tower_affinity_core::MAX_BEARER)) gives no key, and a fresh id draws.
    Claim(Box<str>),
    /// The client's network: its IPv4 address, or the first 56 bits of its IPv6 address. The
    /// weakest form: many clients can share an address, and one client can have several.
    Address,
    /// The group where the fewest sessions live for its weight, of two that its own fresh id draws.
    /// It needs a store that counts them ([`AffinityBuilder::store`]); while that does not, the id
    /// alone decides.
    ///
    /// [`AffinityBuilder::store`]: crate::AffinityBuilder::store
    LeastLoaded,
}

/// What happens to answers that a shared cache may store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachePolicy {
    /// They become private: no cache hands an answer of one commit to a session on another.
    #[default]
    Private,
    /// Only those that set a pin become private.
    Keep,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_pattern_matches_whole_segments() {
        let below: PathPattern = "/app/*".parse().unwrap();
        for (path, matches) in [
            ("/app", false),
            ("/app/", true),
            ("/app/x/y", true),
            ("/apple", false),
            ("/", false),
        ] {
            assert_eq!(below.matches(path), matches, "{path}");
        }
        assert!(PathPattern::all().matches("/anything") && PathPattern::all().matches("/"));
        assert_eq!("/*".parse::<PathPattern>().unwrap(), PathPattern::all());
        let exact: PathPattern = "/app".parse().unwrap();
        assert!(exact.matches("/app") && !exact.matches("/app/"));
    }

    #[test]
    fn a_pattern_covers_what_it_matches_wholly() {
        let pattern = |text: &str| text.parse::<PathPattern>().unwrap();
        for (wide, narrow) in [
            ("/*", "/a/*"),
            ("/a/*", "/a/b/*"),
            ("/a/*", "/a/b"),
            ("/a", "/a"),
        ] {
            assert!(pattern(wide).covers(&pattern(narrow)), "{wide} {narrow}");
        }
        for (one, other) in [
            ("/a/*", "/*"),
            ("/a/*", "/ab/*"),
            ("/a", "/a/*"),
            ("/a/*", "/a"),
        ] {
            assert!(!pattern(one).covers(&pattern(other)), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for bad in ["", "app", "app/*", "/a*b", "/a/*/b", "/a?b", "/a b", "*"] {
            assert!(bad.parse::<PathPattern>().is_err(), "{bad:?} was accepted");
        }
    }
}
